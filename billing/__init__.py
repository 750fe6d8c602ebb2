"""Plans, ledger, metering and payments. Nothing is charged for yet, so nothing is here."""
