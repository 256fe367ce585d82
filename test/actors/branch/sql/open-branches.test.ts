import { expect, it } from 'vitest';
import type { BranchState } from '#actors/branch/branch-state.ts';
import { type LentBranch, OpenBranches } from '#actors/branch/sql/branch-tables.ts';
import { policyFor } from '#runtime/access/policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { administrator } from '#test/support/branch-fixture.ts';

/** Branch `main`, and others of which the readers note when they are closed. */
function openBranches(): {
  readonly branches: OpenBranches;
  readonly closed: string[];
  readonly asked: string[];
} {
  const closed: string[] = [];
  const asked: string[] = [];
  const state = {
    name: 'main',
    tenant: 'acme',
    branchNamed: (name: string) => ({ actor: name, taggedAt: undefined }),
    askBranch: (actor: string): LentBranch => {
      asked.push(actor);
      const context = { pin: () => ({ close: () => closed.push(actor) }) } as unknown as QueryContext;
      return {
        state: { name: actor } as BranchState,
        context,
        policy: policyFor(administrator.principal, 'acme'),
      };
    },
  } as unknown as BranchState;
  const context = { caller: administrator } as QueryContext;
  return {
    branches: new OpenBranches({
      state,
      context,
      reader: {} as TableReader,
      schemas: state.querySchemas,
      moment: undefined,
    }),
    closed,
    asked,
  };
}

it('the readers of other branches are open until the statements end, and are closed once', () => {
  const { branches, closed } = openBranches();
  const dev = atOnce(branches.own.other('dev'));
  atOnce(dev.other('test'));
  expect(closed).toEqual([]);
  branches.close();
  branches.close();
  expect(closed).toEqual(['dev', 'test']);
});

it('a branch is opened once, from wherever it is named', () => {
  const { asked, branches } = openBranches();
  const dev = atOnce(branches.own.other('dev'));
  expect(atOnce(dev.other('dev'))).toBe(dev);
  expect(atOnce(dev.other('main'))).toBe(branches.own);
  expect(asked).toEqual(['dev']);
});
