import pytest

from provisioner.offsite import errors
from provisioner.offsite.running import Ended
from provisioner.offsite.told import trouble


@pytest.mark.parametrize(
    ("ended", "error", "shown"),
    [
        (Ended(1, "", "Save(<data/ab>) failed: XMinioStorageFull"), errors.StoreFull, "full"),
        (Ended(1, "", "unable to create lock: repository is already locked by PID 4"),
         errors.RepositoryLocked, "Another run"),
        (Ended(1, "", "ignoring error for /a: write /t/a: no space left on device"),
         errors.NoRoom, "more room"),
        (Ended(1, "", 'Fatal: Get "http://10.0.0.9:1/a?X-Amz-Signature=s": i/o timeout'),
         errors.StoreAway, "Fatal: Get …"),
        (Ended(-15, "", "", "nothing moved for 9 s"), errors.StoreAway, "for 9 s"),
        (Ended(-15, "", "Load(<data/ab>) returned error: unexpected EOF", "it retries for ever"),
         errors.StoreAway, "for ever"),
        (Ended(-15, "", "Load(<data/ab>): wrong size 1, expected 2", "it retries for ever"),
         errors.StoreAway, "for ever"),
        (Ended(-15, "", "ciphertext verification failed\nunexpected EOF", "it retries for ever"),
         errors.Damaged, "ciphertext"),
        (Ended(-15, "", "pack a: unexpected file size: got 1, expected 2\nLoad(<data/ab>) returned "
               "error: EOF", "it retries for ever"), errors.Damaged, "file size"),
        (Ended(1, "", "Load(<data/ab>): wrong size 1, expected 2"), errors.Damaged, "wrong size"),
        (Ended(1, "", "Fatal: unexpected EOF"), errors.Damaged, "EOF"),
        (Ended(1, "", "Fatal: who knows\n"), errors.Failed, "(restic ended with 1): Fatal: who"),
        (Ended(-9, "", ""), errors.Failed, "gave no reason"),
    ],
)  # fmt: skip
def test_what_it_wrote_says_what_went_wrong(ended: Ended, error: type, shown: str) -> None:
    found = trouble(ended)
    assert type(found) is error
    assert shown in str(found)
    assert "Signature" not in str(found)
