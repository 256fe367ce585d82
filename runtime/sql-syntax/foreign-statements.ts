/** How the columns of a workspace are found out. */
export const SHOWN_COLUMNS =
  'SELECT * FROM … LIMIT 1 shows the columns of a workspace, SELECT * FROM NodeTypes the types of nodes with their properties';

/** What is done here with statements that other dialects have, by their first words. */
const hints: ReadonlyMap<string, string> = new Map([
  ['TRUNCATE', 'Remove nodes with DELETE FROM … WHERE …'],
  ['SAVEPOINT', 'A transaction has no savepoints: it is done whole or not at all'],
  ['RELEASE', 'A transaction has no savepoints: it is done whole or not at all'],
  ['END', 'A transaction ends with COMMIT or ROLLBACK'],
  ['ABORT', 'A transaction ends with COMMIT or ROLLBACK'],
  ['DESC', SHOWN_COLUMNS],
  [
    'CREATE TABLE',
    'Workspaces are the tables, and PUT /api/workspaces/{repo}/{workspace} makes one; CREATE NODETYPE defines a type of nodes',
  ],
  ['ALTER TABLE', 'Workspaces are the tables; ALTER NODETYPE changes the properties of a type of nodes'],
  ['DROP TABLE', 'Workspaces are the tables; DELETE FROM … WHERE … removes nodes, DROP NODETYPE a type'],
  ['CREATE INDEX', 'An index belongs to a type of nodes: ALTER NODETYPE … MODIFY PROPERTY … PROPERTY_INDEX'],
  ['DROP INDEX', 'An index belongs to a type of nodes: ALTER NODETYPE … MODIFY PROPERTY …'],
  ['SHOW TABLES', 'Workspaces are the tables: SELECT name FROM Workspaces'],
  ['CREATE DATABASE', 'A repository takes its place: POST /api/repositories; CREATE BRANCH makes a branch'],
  ['CREATE SCHEMA', 'A repository has workspaces, and no schemas: PUT /api/workspaces/{repo}/{workspace}'],
  ['CREATE VIEW', 'There are no views; a query may have common tables: WITH name AS (…)'],
]);

/**
 * What to do instead of a statement that other dialects have and this one has not.
 *
 * @param words its first two words, as they were written
 * @returns the name of the statement and what to do; undefined: nothing is known about it
 */
export function hintForForeign(
  words: readonly [string, string],
): { readonly name: string; readonly hint: string } | undefined {
  const [first, second] = words.map((word) => word.toUpperCase());
  for (const name of [`${first} ${second}`, `${first}`]) {
    const hint = hints.get(name);
    if (hint !== undefined) return { name, hint };
  }
  return undefined;
}
