import { describe, expect, it } from 'vitest';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';
import { parseCommitOperations } from '#protocols/rest/nodes/commit-operations.ts';
import { conditionOf, ReadCondition } from '#protocols/rest/nodes/conditions.ts';
import { installCommand, workspacesCommand } from '#protocols/rest/management/system-updates.ts';
import { partOf } from '#protocols/rest/reads/property-names.ts';
import type { RestRequest } from '#protocols/rest/rest-route.ts';
import { changeCommand, readQuery } from '#protocols/sql/sent-messages.ts';
import type { TextPart } from '#protocols/sql/text-part.ts';
import {
  DIFF_DETAILS_SINCE,
  INCOMING_SINCE,
  PARTS_SINCE,
  PRECONDITIONS_SINCE,
  RESTORED_TYPES_SINCE,
  SQL_CHANGES_SINCE,
  SQL_SINCE,
} from '#runtime/actor/message-version.ts';
import { parseStatements } from '#runtime/sql-syntax/parse-statements.ts';

/** A request, as far as conditions and parts of nodes look at it. */
function requestOf(headers: Readonly<Record<string, string>>, queryString = ''): RestRequest {
  const headerList = (name: string): string | undefined => headers[name];
  return { headerList, queryString, query: parseQuery(queryString) } as unknown as RestRequest;
}

const operations = (...list: object[]) =>
  parseCommitOperations(bodyFields({ message: 'm', operations: list }), '/');

/** A member of an older version would do it without the condition, or answer another thing: it has to refuse. */
describe('what an older member would pass over', () => {
  it('says which version it takes where a write has a condition', () => {
    for (const headers of [{ 'if-match': '"a"' }, { 'if-match': '*' }, { 'if-none-match': '"a"' }])
      expect(conditionOf(requestOf(headers))).toMatchObject({ since: PRECONDITIONS_SINCE });
    expect(conditionOf(requestOf({}), bodyFields({ version: 3 }))).toEqual({
      expected: { version: 3 },
      since: PRECONDITIONS_SINCE,
    });
    expect(conditionOf(requestOf({}), bodyFields({}))).toEqual({});
  });

  it('is reported for an operation of a commit with a version', () => {
    const removal = { type: 'delete', node_id: 'd' };
    expect(operations(removal, { ...removal, version: 2 }).since).toBe(PRECONDITIONS_SINCE);
    expect(operations(removal).since).toBeUndefined();
  });

  it('is reported for a read with tags in If-Match, for which an older member sends nothing to compare with', () => {
    const queryOf = (headers: Readonly<Record<string, string>>) =>
      ReadCondition.of(requestOf(headers))?.query;
    expect(queryOf({ 'if-match': '"a"' })).toEqual({ since: PRECONDITIONS_SINCE });
    // Every node has some tag, and an older member sends the whole node whatever its tag is.
    expect(queryOf({ 'if-match': '*', 'if-none-match': '"a"' })).toEqual({ unless: ['a'] });
  });

  it('is reported for statements of SQL', () => {
    const read = (sql: string) =>
      readQuery({ sql, parameters: [], statements: parseStatements(sql) } as unknown as TextPart);
    expect(read('SELECT 1; EXPLAIN SELECT 1')).toMatchObject({ type: 'RunSql', since: SQL_SINCE });
    expect(read('SELECT 1; SHOW ROLES')).toMatchObject({ type: 'RunSql', since: SQL_CHANGES_SINCE });
    expect(changeCommand({ sql: 'x', parameters: [] })).toMatchObject({ since: SQL_CHANGES_SINCE });
  });

  it('is reported for a restore of shipped types', () => {
    expect(installCommand(true)).toMatchObject({ force: true, since: RESTORED_TYPES_SINCE });
    expect(installCommand(false)).toEqual({ type: 'InstallBuiltIns' });
  });

  it('is the command that restores workspaces, which is sent only where one is named', () => {
    const restored = { type: 'RestoreBuiltInWorkspaces', names: ['default'] };
    expect(workspacesCommand(['default'], [], true)).toEqual(restored);
    for (const [named, force] of [
      [[], true],
      [['default'], false],
    ] as const) {
      const installed = { type: 'InstallBuiltInWorkspaces', names: ['other'], force };
      expect(workspacesCommand(named, ['other'], force)).toEqual(installed);
    }
  });

  it('is reported for a read of parts of nodes', () => {
    for (const query of ['fields=a', 'fields=', 'expand=a'])
      expect(partOf(requestOf({}, query))).toMatchObject({ since: PARTS_SINCE });
    expect(partOf(requestOf({}, 'lang=de'))).toEqual({});
  });

  it('asks for a version that no build without it has', () => {
    // Builds without lists of incoming references have version 3 already.
    expect({
      PRECONDITIONS_SINCE,
      PARTS_SINCE,
      INCOMING_SINCE,
      DIFF_DETAILS_SINCE,
      RESTORED_TYPES_SINCE,
      SQL_SINCE,
      SQL_CHANGES_SINCE,
    }).toEqual({
      PRECONDITIONS_SINCE: 3,
      PARTS_SINCE: 3,
      INCOMING_SINCE: 4,
      DIFF_DETAILS_SINCE: 4,
      RESTORED_TYPES_SINCE: 4,
      SQL_SINCE: 6,
      SQL_CHANGES_SINCE: 7,
    });
  });
});
