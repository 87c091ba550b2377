"""What can go wrong with tools.

ToolError
├── ToolMissingError   nowhere to be found, and no way to install it worked
├── DownloadError      the release could not be fetched
│   └── ChecksumError  it was fetched, but is not what was published: never used
├── BuildError         there is no Go, or it failed
└── CacheError         the cache cannot be written
"""

from __future__ import annotations


class ToolError(Exception):
    """One line for the person who has to mend it."""


class ToolMissingError(ToolError):
    """The tool is nowhere; the text says what was tried and what to do."""


class DownloadError(ToolError):
    """The release could not be fetched."""


class ChecksumError(DownloadError):
    """What was fetched is not what was published."""


class BuildError(ToolError):
    """Go is missing, or could not build the tool."""


class CacheError(ToolError):
    """The cache's folder cannot be made or written."""
