-- Claims one unit of a pool, if one is left.
UPDATE pool SET remaining = remaining - 1 WHERE name = 'hot' AND remaining >= 1;
