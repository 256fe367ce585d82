import { expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { BranchCommand } from '#actors/branch/messages.ts';

const spaceUse = branchActor({ commitNodesMax: 1 }).spaceUse as (command: BranchCommand) => string;

function useOf(sql: string): string {
  return spaceUse({ type: 'ChangeBySql', sql, parameters: [], isTransaction: false });
}

it.each([
  "DELETE FROM 'g' WHERE id = 'a'",
  " delete from 'g' where id = 'a'; ",
  "DELETE FROM 'g' WHERE id = 'a'; UNRELATE FROM path='/a' TO path='/b'",
])('a text that only removes may run while space is short: %s', (sql) => {
  expect(useOf(sql)).toBe('ends');
  expect(
    spaceUse({ type: 'ChangeSomeBySql', sql, parameters: [], ids: [], job: 'j', part: 1, total: 0 }),
  ).toBe('ends');
});

it.each([
  "INSERT INTO 'g' (path, node_type) VALUES ('/a', 'svc:Folder')",
  "DELETE FROM 'g' WHERE id = 'a'; INSERT INTO 'g' (path, node_type) VALUES ('/a', 'svc:Folder')",
  "DELETE FROM 'g' WHERE id = 'a'; UPDATE 'g' SET name = 'b' WHERE id = 'b'; DELETE FROM 'g' WHERE id = 'c'",
  "DELETES FROM 'g'",
  "-- DELETE\nUPDATE 'g' SET name = 'b' WHERE id = 'b'",
])('any other may not: %s', (sql) => {
  expect(useOf(sql)).toBe('grows');
});
