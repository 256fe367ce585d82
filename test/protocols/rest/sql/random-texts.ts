import fc from 'fast-check';

/** Values that are mostly good, and some that are not. */
function mostly(good: readonly string[], odd: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { arbitrary: fc.constantFrom(...good), weight: 8 },
    { arbitrary: fc.constantFrom(...odd), weight: 1 },
  );
}

const oddTexts = ['', 'x', 'a b', 'ü', '/', '..', 'x'.repeat(300), '\\u0000', '../x'];

/** Values by the hole of a template that they are put into; most of them are there in the garden of the tests. */
const holes: Readonly<Record<string, fc.Arbitrary<string>>> = {
  path: mostly(
    ['/beds', '/beds/north', '/beds/north/basil', '/beds/south', '/sheds'],
    ['/zz', '/', ...oddTexts],
  ),
  id: mostly(['f0', 'b1', 'b2', 'p1', 'p2', 's0'], ['u1', 'zz', 'a-new-one', ...oddTexts]),
  name: mostly(['north', 'q', 'r', 's', 't'], oddTexts),
  ws: mostly(["'g'"], ["'p'", 'g', '"g"', "'nowhere'", "'svc:access_control'", 'NodeTypes', "''"]),
  type: mostly(['grow:Bed', 'grow:Plant', 'svc:Folder'], ['no:Such', ...oddTexts]),
  branch: mostly(['main', 'dev'], ['v1', 'nope', 'a/b', ...oddTexts]),
  locale: mostly(['de', 'en'], ['xx', 'de-AT', ...oddTexts]),
  revision: mostly(['HEAD~0', 'HEAD~1'], ['HEAD~999999', 'dev~0', "'1-0'", "'x'", '$1', '99999999999999_0']),
  column: mostly(
    ['name', 'path', 'properties', 'archetype'],
    ['id', 'node_type', 'version', 'x', '__branch', 'locale'],
  ),
  word: mostly(['title', 'area', 'soil', 'role'], ['path', 'branch', 'x', 'select']),
  json: mostly(
    ['{}', '{"a":1}', '{"soil":{"ph":[1,{"b":2}]}}', '{"title":"T"}'],
    ['[]', '1', 'nonsense', '{"svc:ref":"b1"}', '{"title":null}'],
  ),
  value: mostly(
    ["'x'", "'{}'", 'NULL', '$1', 'name', "name || 'x'"],
    ['1', '-1.5', 'TRUE', '$2', '$9', '1 / 0', "'{}'::jsonb", 'NOW()', 'bogus'],
  ),
  condition: mostly(
    [
      "id = 'b1'",
      "id = 'p1'",
      "path = '/beds/south'",
      'id = $1',
      "node_type = 'grow:Plant'",
      "CHILD_OF('/beds')",
      "id = 'b2' AND __branch = 'dev'",
      "(properties->>'stock')::INT > 1",
    ],
    [
      "id = 'zz'",
      "id = 'b1' AND __branch = 'nope'",
      'name = NULL',
      '1 / 0 = 1',
      "id = (SELECT id FROM 'g')",
      'COUNT(*) > 1',
      'bogus = 1',
      'TRUE',
    ],
  ),
};

const templates: readonly string[] = [
  "INSERT INTO {ws} (path, node_type) VALUES ('{path}', '{type}')",
  "INSERT INTO {ws} (path, node_type, properties) VALUES ('{path}/{name}', '{type}', '{json}')",
  "INSERT INTO {ws} (path, node_type, id) VALUES ('{path}/{name}', '{type}', '{id}') RETURNING *",
  "INSERT INTO {ws} (path, node_type, {column}) VALUES ('{path}/new', '{type}', {value}), ('{path}/other', {value}, {value})",
  "INSERT INTO {ws} (path, node_type) SELECT '{path}/' || name, node_type FROM {ws} WHERE {condition}",
  "UPSERT INTO {ws} (path, node_type, properties) VALUES ('{path}', '{type}', '{json}')",
  'UPDATE {ws} SET {column} = {value} WHERE {condition}',
  "UPDATE {ws} SET properties = properties || '{json}' WHERE {condition} RETURNING id, {column}",
  "UPDATE {ws} SET properties = JSONB_SET(properties, '{{word},x}', '{json}'), name = '{name}' WHERE {condition}",
  'UPDATE {ws} SET name = {value}',
  'DELETE FROM {ws} WHERE {condition}',
  'DELETE FROM {ws} WHERE {condition} RETURNING {column}, {value}',
  "MOVE {ws} SET path='{path}' TO path='{path}'",
  "MOVE {ws} IN BRANCH '{branch}' SET id='{id}' TO path='{path}'",
  "COPY TREE {ws} SET path='{path}' TO path='{path}' AS '{name}'",
  "COPY {ws} SET id='{id}' TO id='{id}'",
  "ORDER {ws} SET id='{id}' ABOVE id='{id}'",
  "RELATE FROM path='{path}' IN WORKSPACE 'g' TO id='{id}' IN WORKSPACE {ws} TYPE '{word}' WEIGHT 2",
  "RELATE FROM id='{id}' TO id='{id}' WEIGHT {value}",
  "UNRELATE FROM id='{id}' IN WORKSPACE 'g' TO id='{id}' IN WORKSPACE 'p'",
  "RESTORE NODE path='{path}' TO REVISION {revision}",
  "RESTORE TREE NODE id='{id}' TO REVISION {revision} TRANSLATIONS ('{locale}')",
  "UPDATE {ws} FOR LOCALE '{locale}' SET {word} = {value} WHERE path='{path}'",
  "CREATE NODETYPE '{type}' (PROPERTIES ({word} String REQUIRED, x Array OF Number))",
  "ALTER NODETYPE '{type}' ADD PROPERTY {word} Number DEFAULT {value}",
  "ALTER MIXIN '{type}' SET ICON = '{name}'",
  "DROP NODETYPE '{type}'",
  "CREATE ROLE '{name}' PERMISSIONS (ALLOW READ ON {ws} PATH '{path}/**' WHERE node.open == true)",
  "ALTER ROLE '{name}' DROP PERMISSION 1",
  "GRANT ROLE '{name}' TO USER '{id}'",
  'SHOW ROLES',
  "DESCRIBE ROLE '{name}'",
  "SHOW PERMISSIONS FOR USER '{id}'",
  "USE BRANCH '{branch}'",
  "USE LOCAL BRANCH '{branch}'",
  'SHOW CURRENT BRANCH',
  'SHOW BRANCHES',
  "DESCRIBE BRANCH '{branch}'",
  "SHOW DIVERGENCE '{branch}' FROM '{branch}'",
  "SHOW CONFLICTS FOR MERGE '{branch}' INTO '{branch}'",
  "MERGE BRANCH '{branch}' INTO '{branch}' MESSAGE '{name}'",
  "ALTER BRANCH '{branch}' SET DESCRIPTION '{name}'",
  "CREATE BRANCH '{branch}' FROM '{branch}'",
  'BEGIN',
  "BEGIN; UPDATE {ws} SET {column} = {value} WHERE {condition}; COMMIT WITH MESSAGE '{name}'",
  "BEGIN; INSERT INTO {ws} (path, node_type) VALUES ('/{name}', '{type}'); SELECT COUNT(*) AS n FROM {ws}",
  'COMMIT',
  "COMMIT WITH MESSAGE '{name}' ACTOR '{id}'",
  'ROLLBACK',
  'SET validate_schema = {value}',
  'SET {word} = {value}',
  'SHOW {word}',
  'SELECT {column}, {value} AS v FROM {ws} WHERE {condition}',
  "SELECT name FROM {ws} WHERE __branch = '{branch}'",
  'EXPLAIN UPDATE {ws} SET name = {value} WHERE {condition}',
  'EXPLAIN DELETE FROM {ws} WHERE {condition}',
];

const HOLE = /\{([a-z]+)\}/;

/** A template with values in its holes. */
function filled(template: string): fc.Arbitrary<string> {
  const hole = HOLE.exec(template);
  const values = hole === null ? undefined : holes[hole[1] as string];
  if (hole === null || values === undefined) return fc.constant(template);
  const before = template.slice(0, hole.index);
  const behind = template.slice(hole.index + hole[0].length);
  return fc.tuple(values, filled(behind)).map(([value, rest]) => before + value + rest);
}

const statement = fc.constantFrom(...templates).chain(filled);

/** A statement of which a word is missing, doubled, or another one. */
const damaged = fc
  .tuple(
    statement,
    fc.nat(),
    fc.constantFrom('', 'SET', '(', ')', ',', "'", '$0', 'NULL', ';', '--', '/*', '::'),
  )
  .map(([text, at, other]) => {
    const words = text.split(' ');
    words[at % words.length] = other;
    return words.join(' ');
  });

/** Texts of some statements, most of which can be read. */
export const arbitraryText: fc.Arbitrary<string> = fc
  .array(fc.oneof({ arbitrary: statement, weight: 15 }, { arbitrary: damaged, weight: 1 }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((statements) => statements.join('; '));

/** Values of `$1` and `$2`. */
export const arbitraryParameters: fc.Arbitrary<readonly unknown[]> = fc.array(
  fc.constantFrom<unknown>('b1', '/beds', 1, null, true, { a: 1 }, [], '1-0', 1e300, 'x'.repeat(2_000)),
  { maxLength: 2 },
);
