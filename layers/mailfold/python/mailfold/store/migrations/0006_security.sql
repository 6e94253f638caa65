-- What an outside review of the store's security asked for (docs/security.md).

-- Functions that run as the owner.

-- Dead letters that failed an authenticity check.

-- Tokens.

-- Erase.

-- Records whose worker died.
