-- One unit of one pool, if one is left.
UPDATE pool SET remaining = remaining - 1 WHERE name = 'hot' AND remaining >= 1;
