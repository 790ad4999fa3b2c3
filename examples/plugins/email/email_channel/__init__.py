"""The email channel: mail in by IMAP, answers out by SMTP, a session for each thread."""
