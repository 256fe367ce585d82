import { expect, test } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { Layout } from '#runtime/sql-exec/lowering/layout.ts';
import { project } from '#runtime/sql-exec/lowering/lower-query.ts';
import type { PhysicalPlan } from '#runtime/sql-exec/lowering/physical-plan.ts';
import type { BoundColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import { textType } from '#runtime/sql-values/types/basic-types.ts';

test('rows with other names of their columns cannot be looked up by the former names', () => {
  const open = (): never => {
    throw new Error('opened');
  };
  const input: PhysicalPlan = {
    describe: () => 'Scan',
    inputs: [],
    layout: new Layout(['1.0']),
    rows: 7,
    isOrdered: false,
    lookups: {
      cost: 1,
      *find() {
        yield undefined;
        return undefined;
      },
    },
    open,
  };
  const column: BoundColumn = { kind: 'column', type: textType, relation: 1, column: 0 };
  const output = new Layout(['output 0']);
  // Nothing is computed, so nothing of the statement is asked for.
  const plan = atOnce(project(undefined as never, input, [column], output));
  expect(plan).toMatchObject({ rows: 7, layout: output, open });
  expect(plan.lookups).toBeUndefined();
});
