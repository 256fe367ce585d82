import { describe, expect, it } from 'vitest';
import { markedReply, replyOfResult } from '#protocols/rest/sql/sql-reply.ts';
import { readText, type SqlText } from '#protocols/sql/sql-text.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';

const textOf = (sql: string): SqlText => atOnce(readText(sql, []));

describe('the reply to statements', () => {
  it.each([
    ['SELECT 1 AS a', true],
    ['SELECT 1 AS a; EXPLAIN SELECT 2 AS b', true],
    ['SHOW ROLES; SELECT 1 AS a', true],
    ["INSERT INTO 'g' (path, node_type) VALUES ('/a', 'svc:Folder')", undefined],
    ["SELECT 1 AS a; DELETE FROM 'g' WHERE id = 'a'; SELECT 2 AS b", undefined],
    ['BEGIN; SELECT 1 AS a; COMMIT', undefined],
    ["CREATE BRANCH 'b' FROM 'main'", undefined],
    ["UPDATE 'g' SET name = 'x' WHERE name = 'y'", undefined],
  ])('may be refused for want of room only where all of them read: %s', (sql, isOfRead) => {
    expect(markedReply(textOf(sql), { status: 200 }).isOfRead).toBe(isOfRead);
  });

  it('names the revision that was written, else that which was read', () => {
    const answer = { status: 200, headers: { 'X-Svc-Revision': '1-0' } };
    const read = { kind: 'read', answer } as const;
    expect(replyOfResult(read, undefined, 1).headers).toEqual({ 'X-Svc-Revision': '1-0' });
    expect(replyOfResult(read, '2-0', 1).headers).toEqual({ 'X-Svc-Revision': '2-0' });
  });
});
