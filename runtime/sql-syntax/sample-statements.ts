/**
 * Statements whose reading takes all common ways through the lexer and the grammar. V8 runs code that it has not seen before
 * many times slower: the first long statement of a process would hold the event loop for some 30 ms.
 */
export const sampleStatements: readonly string[] = [
  `SELECT a.name AS n, COUNT(*), SUM(a.version + 1) FILTER (WHERE NOT a.b), UPPER(TRIM(a.name)) || 'x',
     properties->>'k', (properties->>'n')::int, $.properties.a[0], CASE WHEN a.v = 1 THEN 'a' ELSE NULL END
   FROM 'w' a JOIN w b ON a.id = b.id LEFT JOIN w AS c ON b.id = c.id AND c.version > 3
   WHERE a.name = 'x' AND (a.version BETWEEN 1 AND 2 OR a.name LIKE 'y%') AND a.id IN ('a', 'b', $1) AND b.path IS NOT NULL
   GROUP BY a.name, properties->>'k' HAVING COUNT(*) > 1 ORDER BY a.name DESC NULLS LAST, 2 LIMIT 10 OFFSET $2`,
  `WITH t AS (SELECT name, ROW_NUMBER() OVER (PARTITION BY name ORDER BY id) AS r FROM 'w')
   SELECT * FROM t WHERE r = ANY(ARRAY[1, 2]) AND EXISTS (SELECT 1 FROM 'w' WHERE id <> 'a') UNION ALL SELECT * FROM (VALUES (1, -2), (3, 4)) v`,
  `INSERT INTO 'w' (path, node_type, properties) VALUES ('/a', 'n:T', '{"a":1}'::jsonb), ('/b', $1, LOWER('B')), ('/c', 'd', NULL) RETURNING id, name`,
  `UPDATE 'w' SET properties = JSONB_SET(properties, '{a}', '1'), name = 'n' WHERE path = '/a' AND version = 2 RETURNING *`,
  `DELETE FROM 'w' WHERE id = $1 OR name = 'a'`,
  `CREATE NODETYPE 'n:T' EXTENDS 'n:S' MIXINS ('n:M') PROPERTIES (a String REQUIRED FULLTEXT LABEL 'l', b Number DEFAULT 1, c Object { d String, e Array OF Number }, f Boolean)`,
  `ALTER NODETYPE 'n:T' ADD PROPERTY g String PROPERTY_INDEX ADD PROPERTY h Number DROP PROPERTY a ADD MIXIN 'n:N' MODIFY PROPERTY b String`,
  `SELECT id FROM 'w' WHERE name IN (${"'a', ".repeat(200)}$1) OR version IN (${'1, -2, '.repeat(50)}3)`,
  `UPSERT INTO 'w' (path, node_type, properties) VALUES ${"('/a', 'n:T', '{}'::jsonb), ".repeat(50)}('/b', $1, NULL)`,
];
