"""HTTP for people and programs: the page, its JSON, and streams of effective policies, without any rules."""
