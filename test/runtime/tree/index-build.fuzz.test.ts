import { Buffer } from 'node:buffer';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import { newSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { olderIndexKey, indexKey } from '#runtime/index/index-key.ts';
import { keyRanges } from '#runtime/index/key-range.ts';
import {
  BranchTable,
  countKey,
  propertyKey,
  propertyPrefix,
  readPropertyKey,
  underParts,
} from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount, hasAllIn, pendingTypes, readTypeCount } from '#runtime/tree/index-catalog.ts';
import { mayBeIndexed } from '#runtime/tree/index-name.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { TreeWriter } from '#runtime/tree/tree-writer.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { values } from '../index/indexed-values.ts';
import { TreeUnderTest } from './tree-under-test.ts';

const workspace = 'content';
const typeNames = ['test:One', 'test:Other'];
const names = ['p', 'q'];

/** Columns of compound indexes. */
const compounds = [
  [{ property: 'p' }, { property: '__updated_at', ascending: false }],
  [{ property: '__node_type' }, { property: 'q', ascending: false }, { property: 'p' }],
];

const id = fc.nat({ max: 7 }).map((number) => `n${number}`);
const nodeType = fc.constantFrom(...typeNames);
const properties = fc.record({ p: values, q: values }, { requiredKeys: [] });
/** Few places, so that nodes pass each other and the cursor of a build. */
const path = fc.constantFrom(...['/a', '/b', '/c', '/d', '/e', '/f', '/g', '/h', '/i', '/j']);

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), id, path, nodeType, properties }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), id, path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), id }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('declare' as const),
      nodeType,
      indexed: fc.subarray(names),
      unique: fc.subarray(['q']),
      compound: fc.subarray(compounds),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('build' as const), nodes: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('apply' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Declared {
  readonly indexed: readonly string[];
  readonly unique: readonly string[];
  readonly compound: readonly (readonly JsonObject[])[];
}

function resolverOf(declared: ReadonlyMap<string, Declared>): SchemaResolver {
  const definitions = new Map(
    [...declared].map(([name, { compound, indexed, unique }]) => {
      const declarations = names.map((property) => ({
        name: property,
        type: 'String',
        unique: unique.includes(property),
        ...(indexed.includes(property) ? { index: ['Property'] } : {}),
      }));
      const parsed = parseNodeTypeDefinition({
        name,
        properties: declarations,
        compound_indexes: compound.map((columns, index) => ({ name: `c${index}`, columns })),
      });
      return [name, newSchemaRecord(parsed, name, '2026-01-01T00:00:00.000Z')];
    }),
  );
  return new SchemaResolver({
    nodeType: (name) => definitions.get(name),
    archetype: () => undefined,
    elementType: () => undefined,
  });
}

function recordOf(
  writer: TreeWriter,
  { at, nodeId, type, value }: { at: string; nodeId: string; type: string; value: JsonObject },
  isNew: boolean,
): NodeRecord {
  const now = '2026-01-01T00:00:00.000Z';
  return makeNodeRecord(
    {
      id: nodeId,
      name: at.slice(1),
      path: at,
      nodeType: type,
      archetype: null,
      parentId: ROOT_ID,
      orderKey: `a${at.slice(1)}`,
      version: 1,
      createdAt: now,
      createdBy: 'ada',
      updatedAt: `2026-01-01T00:00:0${at.charCodeAt(1) % 10}.000Z`,
      updatedBy: 'ada',
      publishedAt: null,
      publishedBy: null,
      ownerId: null,
      translations: null,
      relations: [],
      revision: formatRevision(writer.revision),
      operation: isNew ? 'added' : 'modified',
      changedLocale: null,
    },
    value,
  );
}

/** A tree of root-level nodes with changing types. */
class Run {
  readonly tree: TreeUnderTest;
  #declared: ReadonlyMap<string, Declared> = new Map(
    typeNames.map((name) => [name, { indexed: ['p'], unique: [], compound: [] }]),
  );
  #types = resolverOf(this.#declared);
  /** Type of the node that the last step wrote. */
  #written: string | undefined;

  constructor(folder: string) {
    this.tree = new TreeUnderTest(folder, () => this.#types);
  }

  async take(each: Step): Promise<void> {
    if (each.do === 'apply') return this.tree.apply();
    const before = { declared: this.#declared, types: this.#types };
    if (each.do === 'declare') {
      this.#declared = new Map(this.#declared).set(each.nodeType, each);
      this.#types = resolverOf(this.#declared);
    }
    this.#written = undefined;
    try {
      this.tree.commit((writer) => this.#write(writer, each));
      // From then on a build of the other form must not write rows.
      if (this.#written !== undefined)
        expect(readTypeCount(this.tree.reader, workspace, this.#written)?.isOlder).toBe(false);
    } catch (error) {
      // A unique value that is taken.
      if (!(error instanceof ServiceError)) throw error;
      this.#declared = before.declared;
      this.#types = before.types;
    }
  }

  #write(writer: TreeWriter, each: Exclude<Step, { do: 'apply' }>): void {
    if (each.do === 'declare') atOnce(writer.reindex());
    else if (each.do === 'build') atOnce(writer.buildIndexes(each.nodes));
    else this.#writeNode(writer, each);
  }

  #writeNode(writer: TreeWriter, each: Extract<Step, { do: 'put' | 'move' | 'remove' }>): void {
    const old = writer.head.byId(workspace, each.id);
    if (each.do === 'remove') {
      if (old !== undefined) writer.remove(workspace, old);
      return;
    }
    const holder = writer.head.idAt(workspace, each.path);
    if (holder !== undefined && holder !== each.id) return;
    if (each.do === 'move' && old === undefined) return;
    const type = each.do === 'put' ? each.nodeType : (old as NodeRecord).nodeType;
    const given = each.do === 'put' ? withoutAbsent(each.properties) : (old as NodeRecord).properties;
    const next = recordOf(writer, { at: each.path, nodeId: each.id, type, value: given }, old === undefined);
    if (old === undefined) writer.add(workspace, next);
    else writer.replace(workspace, old, next);
    this.#written = type;
  }

  /** Makes the rows of the property index and its catalog those of an earlier build. */
  makeOlder(): void {
    this.tree.rewrite((turn) => {
      const rows = [...turn.range(BranchTable.properties, underParts(workspace))];
      for (const { key } of rows) turn.remove(BranchTable.properties, key);
      for (const name of typeNames) {
        const known = readTypeCount(turn, workspace, name);
        if (known === undefined) continue;
        const { fields, count } = known;
        const single = fields.properties.filter(mayBeIndexed);
        const text = JSON.stringify([single, fields.uniques]);
        const bytes = Buffer.alloc(8 + text.length);
        bytes.writeDoubleBE(count, 0);
        bytes.write(text, 8);
        turn.put(BranchTable.counts, countKey(workspace, name), bytes);
        for (const record of nodesOf(turn, name)) {
          for (const property of single) {
            const key = olderIndexKey(record.property(property));
            if (key === undefined) continue;
            turn.put(
              BranchTable.properties,
              propertyKey(workspace, property, key, record.header.id),
              new Uint8Array(0),
            );
          }
        }
      }
    });
  }
}

function withoutAbsent(given: {
  readonly p?: JsonValue | undefined;
  readonly q?: JsonValue | undefined;
}): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JsonObject;
}

function nodesOf(reader: TableReader, type: string): readonly NodeRecord[] {
  return [...reader.range(BranchTable.nodes, underParts(workspace))]
    .map(({ value }) => new NodeRecord(value))
    .filter((record) => record.nodeType === type);
}

/** Every value that an index says it finds is found. */
function expectFound(reader: TableReader): void {
  for (const type of typeNames) {
    const known = readTypeCount(reader, workspace, type);
    if (known === undefined) continue;
    for (const record of nodesOf(reader, type)) {
      for (const name of names) {
        const value = record.property(name);
        const ranges = value === undefined ? [] : keyRanges({ operator: 'eq', value });
        if (value === undefined || !hasAllIn(known.fields, name, ranges)) continue;
        const prefix = propertyPrefix(workspace, name);
        const ids = ranges.flatMap(({ start, end }) => {
          const range = { start: prefix + start, end: prefix + end };
          return [...reader.range(BranchTable.properties, range)].map(
            ({ key }) => readPropertyKey(key, prefix).id,
          );
        });
        expect(ids).toContain(record.header.id);
      }
    }
  }
}

/** A complete index has one row for each node of its types. */
function expectComplete(reader: TableReader): void {
  expect(pendingTypes(reader)).toEqual([]);
  for (const { key, value } of reader.range(BranchTable.counts, underParts(workspace))) {
    const { fields } = decodeTypeCount(value);
    const type = key.slice(key.indexOf('\0') + 1);
    for (const name of fields.properties.filter(mayBeIndexed)) {
      for (const record of nodesOf(reader, type)) {
        const row = propertyKey(workspace, name, indexKey(record.property(name)), record.header.id);
        expect(reader.get(BranchTable.properties, row)).toBeDefined();
      }
    }
  }
}

it('has in indexes the rows of nodes, while they are built and dropped beside any writes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 6, maxLength: 12 }),
      fc.boolean(),
      fc.array(step, { minLength: 4, maxLength: 24 }),
      async (first, isOlder, second) => {
        const folder = mkdtempSync(join(tmpdir(), 'index-'));
        const run = new Run(folder);
        const { tree } = run;
        try {
          for (const each of first.filter((one) => one.do === 'put')) await run.take(each);
          if (isOlder) run.makeOlder();
          for (const each of second) {
            await run.take(each);
            expect(findDamage(tree.reader)).toEqual([]);
            expectFound(tree.reader);
          }
          for (let isDone = false; !isDone; )
            tree.commit((writer) => ({ isDone } = atOnce(writer.buildIndexes(2))));
          expect(findDamage(tree.reader)).toEqual([]);
          expectComplete(tree.reader);
        } finally {
          await tree.close();
          rmSync(folder, { recursive: true, force: true });
        }
      },
    ),
    { numRuns: workloadCount(400) },
  );
});
