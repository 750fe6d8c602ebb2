// Paperclip's server, and what it leaves undone after a kill.
//
// A run holds a lease until a moment after its end. Killed before that, Paperclip never lets go of
// it, and the conversation takes no message any more. But at a start nobody holds anything.
import postgres from "postgres";
import { startServer } from "@paperclipai/server";

const DATABASE = "postgres://paperclip:paperclip@127.0.0.1:54329/paperclip";
const begun = new Date();

try {
  await startServer();
} catch (error) {
  console.error(error);
  process.exit(1);
}
const sql = postgres(DATABASE, { max: 1, onnotice: () => {} });
try {
  const freed = await sql`
    update environment_leases
    set status = 'failed', released_at = now(), cleanup_status = 'success', updated_at = now()
    where status = 'active' and acquired_at < ${begun}
    returning id`;
  if (freed.length) console.log(`freed ${freed.length} leases of runs that a kill cut off`);
} catch (error) {
  console.error("leases of runs that a kill cut off could not be freed", error);
} finally {
  await sql.end();
}
