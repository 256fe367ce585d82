import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileCondition } from '#runtime/rel/condition.ts';
import { compileTerm } from '#runtime/rel/evaluation/compile-term.ts';
import { Evaluation, Fault, WORK_MAX } from '#runtime/rel/evaluation/evaluation.ts';
import type { Narrowing } from '#runtime/rel/evaluation/narrowing.ts';
import { resolve } from '#runtime/rel/evaluation/resolve.ts';
import type { ConditionColumn } from '#runtime/rel/evaluation/roots.ts';
import type { Caller, ConditionNode, Relations } from '#runtime/rel/ports.ts';
import type { Expression } from '#runtime/rel/syntax/expression.ts';
import { parseCondition } from '#runtime/rel/syntax/parse-condition.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import {
  anyCaller,
  anyEdges,
  anyExpression,
  anyNode,
  anyPlace,
  anyRestriction,
  treePaths,
} from './any-expression.ts';
import { bob, nodeOf, relationsOf } from './condition-world.ts';
import { printExpression, withoutPlaces } from './print-expression.ts';
import { type Plain, plainOf, type PlainValue, reference, Refused } from './reference-evaluator.ts';

const numRuns = workloadCount(16_000);

/** The value that the product computes, or `error`. */
function computed(
  expression: Expression,
  bound: Caller | undefined,
  caller: Caller,
  node: ConditionNode,
  relations: Relations,
): PlainValue | 'error' {
  try {
    const term = resolve(expression, bound);
    return plainOf(compileTerm(term)(new Evaluation(caller, node, relations, WORK_MAX)));
  } catch (thrown) {
    if (thrown instanceof Fault) return 'error';
    throw thrown;
  }
}

function expected(expression: Expression, plain: Plain): PlainValue | 'error' {
  try {
    return reference(expression, plain);
  } catch (thrown) {
    if (thrown instanceof Refused) return 'error';
    throw thrown;
  }
}

/** A node that tells which of its columns and properties were read. */
function watched(node: ConditionNode): {
  readonly node: ConditionNode;
  readonly columns: Set<ConditionColumn>;
  readonly properties: Set<string>;
} {
  const columns = new Set<ConditionColumn>();
  const properties = new Set<string>();
  const column = <T>(name: ConditionColumn, value: T): T => {
    columns.add(name);
    return value;
  };
  return {
    columns,
    properties,
    node: {
      get id() {
        return column('id', node.id);
      },
      get name() {
        return column('name', node.name);
      },
      get path() {
        return column('path', node.path);
      },
      get nodeType() {
        return column('node_type', node.nodeType);
      },
      get createdBy() {
        return column('created_by', node.createdBy);
      },
      get updatedBy() {
        return column('updated_by', node.updatedBy);
      },
      get ownerId() {
        return column('owner_id', node.ownerId);
      },
      get workspace() {
        return column('workspace', node.workspace);
      },
      property(name, lengthMax) {
        properties.add(name);
        return node.property(name, lengthMax);
      },
    },
  };
}

/** Whether a node is among those to which a condition was narrowed. */
function isWithin(node: ConditionNode, { tops, values }: Narrowing): boolean {
  const isBelow =
    tops === undefined || tops.some((top) => node.path === top || node.path.startsWith(`${top}/`));
  const columns: Readonly<Record<ConditionColumn, string | null>> = {
    id: node.id,
    name: node.name,
    path: node.path,
    node_type: node.nodeType,
    created_by: node.createdBy,
    updated_by: node.updatedBy,
    owner_id: node.ownerId,
    workspace: node.workspace,
  };
  const hasValues = Object.entries(values).every(([column, texts]) =>
    (texts as readonly (string | null)[]).includes(columns[column as ConditionColumn]),
  );
  return isBelow && hasValues;
}

describe('random conditions', () => {
  it('are parsed from their printed text to the same tree', () => {
    fc.assert(
      fc.property(anyExpression, (expression) => {
        const parsed = parseCondition(printExpression(expression));
        expect('expression' in parsed && withoutPlaces(parsed.expression)).toEqual(withoutPlaces(expression));
      }),
      { numRuns },
    );
  });

  it('have the value that the reference computes, bound and unbound', () => {
    let errors = 0;
    fc.assert(
      fc.property(anyExpression, anyCaller, anyNode, anyEdges, (expression, caller, fields, edges) => {
        const node = nodeOf(fields);
        const relations = relationsOf(edges);
        const wanted = expected(expression, { caller, node, edges });
        if (wanted === 'error') errors += 1;
        expect(computed(expression, undefined, caller, node, relations)).toEqual(wanted);
        expect(computed(expression, caller, caller, node, relations)).toEqual(wanted);
      }),
      { numRuns },
    );
    // Values are compared as well as errors.
    expect(errors / numRuns).toBeGreaterThan(0.1);
    expect(errors / numRuns).toBeLessThan(0.7);
  });

  it('hold where they are explained to hold, and never where they fail', () => {
    fc.assert(
      fc.property(anyExpression, anyCaller, anyNode, anyEdges, (expression, caller, fields, edges) => {
        const condition = compileCondition(printExpression(expression));
        const bound = condition.bind(caller);
        const [node, relations] = [nodeOf(fields), relationsOf(edges)];
        const explained = condition.explain(caller, node, relations);
        expect(condition.holds(caller, node, relations)).toBe(explained.holds);
        expect(bound.holds(node, relations)).toBe(explained.holds);
        expect(bound.holdsWithin(WORK_MAX, node, relations)).toBe(explained.holds);
        expect(bound.explain(node, relations).holds).toBe(explained.holds);
        expect(explained.value === undefined).toBe(explained.error !== undefined);
        if (explained.error !== undefined) expect(explained.holds).toBe(false);
      }),
      { numRuns },
    );
  });

  it('read only what they need, and ask for relations only when they say so', () => {
    fc.assert(
      fc.property(anyExpression, anyCaller, anyNode, anyEdges, (expression, caller, fields, edges) => {
        const condition = compileCondition(printExpression(expression));
        const bound = condition.bind(caller);
        for (const [needs, holds] of [
          [condition.needs, (node: ConditionNode, of: Relations) => condition.holds(caller, node, of)],
          [bound.needs, (node: ConditionNode, of: Relations) => bound.holds(node, of)],
        ] as const) {
          const seen = watched(nodeOf(fields));
          let asked = false;
          const relations = relationsOf(edges);
          holds(seen.node, {
            related: (...question) => {
              asked = true;
              return relations.related(...question);
            },
          });
          for (const column of seen.columns) expect(needs.columns).toContain(column);
          if (!needs.anyProperty)
            for (const name of seen.properties) expect(needs.properties).toContain(name);
          if (!needs.readsProperties) expect(seen.properties).toEqual(new Set());
          if (asked) expect(needs.relations).toBe(true);
        }
      }),
      { numRuns },
    );
  });

  it('narrow to no fewer nodes than they hold for', () => {
    let held = 0;
    let narrowed = 0;
    const expressions = fc.oneof(
      { weight: 3, arbitrary: anyRestriction },
      { weight: 1, arbitrary: anyExpression },
    );
    const nodes = fc.array(anyNode, { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(expressions, anyCaller, nodes, anyEdges, (expression, caller, given, edges) => {
        const condition = compileCondition(printExpression(expression));
        const { narrowing, decided } = condition.bind(caller);
        for (const node of given.map(nodeOf)) {
          const holds = condition.holds(caller, node, relationsOf(edges));
          if (decided !== undefined) expect(holds).toBe(decided);
          if (!holds) continue;
          held += 1;
          if (narrowing.tops !== undefined || Object.keys(narrowing.values).length > 0) narrowed += 1;
          expect(isWithin(node, narrowing)).toBe(true);
        }
      }),
      { numRuns },
    );
    // Conditions that narrow and hold were among them.
    expect(narrowed).toBeGreaterThan(held / 20);
  });

  it('narrow to paths of which none is below another one, and to all that they need', () => {
    fc.assert(
      fc.property(anyPlace, (expression) => {
        const { narrowing, holds } = compileCondition(printExpression(expression)).bind(bob);
        for (const path of treePaths) {
          const node = nodeOf({ path });
          if (holds(node)) expect(isWithin(node, narrowing)).toBe(true);
        }
        const { tops = [] } = narrowing;
        for (const top of tops)
          expect(tops.filter((path) => path === top || path.startsWith(`${top}/`))).toEqual([top]);
      }),
      { numRuns },
    );
  });
});

describe('random texts', () => {
  const pieces = fc.constantFrom(
    ...['node', 'auth', '.', '..', '(', ')', '[', ']', '{', '}', ',', ':', "'", '"', "'a'", '\\', ' ', '\n'],
    ...[
      '&&',
      '||',
      '&',
      '|',
      '=',
      '==',
      '!',
      '!=',
      '<',
      '>=',
      '+',
      '-',
      '*',
      '/',
      '%',
      '1',
      '0.5',
      '1e9',
      '..2',
    ],
    ...[
      'RELATES',
      'VIA',
      'DEPTH',
      'DIRECTION',
      'ANY',
      'contains',
      'length',
      'null',
      'true',
      'id',
      '\u{1f600}',
      '\ud800',
    ],
  );
  const text = fc.oneof(
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join('')),
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(' ')),
    fc.string({ unit: 'binary', maxLength: 30 }),
  );

  it('are conditions or have an error with a place in the text', () => {
    fc.assert(
      fc.property(text, (given) => {
        const condition = compileCondition(given);
        const { error } = condition;
        const node = nodeOf();
        if (error === undefined) {
          condition.explain(bob, node);
          return;
        }
        const lines = given.split('\n');
        expect(error.line).toBeGreaterThanOrEqual(1);
        expect(error.line).toBeLessThanOrEqual(lines.length);
        expect(error.column).toBeLessThanOrEqual([...lines[error.line - 1]!].length + 1);
        expect(error.message).not.toBe('');
        expect(condition.holds(bob, node)).toBe(false);
        expect(condition.bind(bob).decided).toBe(false);
      }),
      { numRuns },
    );
  });
});
