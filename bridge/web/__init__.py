"""What people and programs ask over HTTP: the page, its JSON, and streams of effective policies. It only moves."""
