import fc from 'fast-check';
import type { Relation } from '#runtime/content/content-node.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import { newSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import { pathName } from '#runtime/content/path.ts';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { TreeWriter } from '#runtime/tree/tree-writer.ts';
import { plainHeader } from '#test/support/plain-header.ts';
import { values } from '../index/indexed-values.ts';

export const typeNames = ['test:One', 'test:Other'] as const;

/** A node as the model keeps it. All are at the root of the workspace. */
export interface IndexedNode {
  readonly id: string;
  readonly path: string;
  readonly nodeType: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly properties: JsonObject;
  /** Ids of nodes to which it has a relation. */
  readonly relatedTo: readonly string[];
}

/** Columns of the compound indexes. */
export const compounds = [
  [
    { property: 'p', ascending: true },
    { property: 'q', ascending: false },
  ],
  [
    { property: '__node_type', ascending: false },
    { property: '__updated_at', ascending: false },
    { property: 'p', ascending: true },
  ],
] as const;

const id = fc.nat({ max: 9 }).map((number) => `n${number}`);
/** One is too long for a key. */
const prefix = fc.constantFrom('', 'a-', 'long'.repeat(400), 'long'.repeat(401));
/** Texts that keys do not tell apart, or not in the right order: they are cut, or have no UTF-8 form. */
const alike = [...['', 'a', 'b'].map((end) => 'x'.repeat(1200) + end), 'y\ufffd', 'y\ud83c', 'y\udf33'];
/** Few values, so that some are equal, and all kinds of them. */
export const value: fc.Arbitrary<JsonValue | undefined> = fc.oneof(
  values,
  fc.constantFrom<JsonValue | undefined>(1, 2, 'a', 'b', null, undefined),
  fc.constantFrom(...alike),
);
const reference: fc.Arbitrary<{ readonly 'svc:ref': string }[] | undefined> = fc.option(
  id.map((ref) => [{ 'svc:ref': ref }]),
  { nil: undefined },
);
const put = fc.record({
  do: fc.constant('put' as const),
  id,
  prefix,
  nodeType: fc.constantFrom(...typeNames),
  p: value,
  q: value,
  code: fc.constantFrom<JsonValue | undefined>(1, 2, 'x'.repeat(1300), { b: 1, a: [null] }, null, undefined),
  reference,
  relatedTo: fc.uniqueArray(id, { maxLength: 2 }),
});

/** A write of one revision; `many` writes more nodes than are few. */
export const write = fc.oneof(
  { weight: 8, arbitrary: put },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('many' as const), p: value }) },
);
export type Write = typeof write extends fc.Arbitrary<infer Value> ? Value : never;

/** Number of nodes that `many` writes. */
const MANY = 70;

/** Which indexes the types declare. */
export interface Declared {
  readonly indexed: readonly string[];
  readonly isUnique: boolean;
  readonly isCompound: boolean;
}

export const declared: fc.Arbitrary<Declared> = fc.record({
  indexed: fc.subarray(['p', 'q']),
  isUnique: fc.boolean(),
  isCompound: fc.boolean(),
});

export function resolverOf({ indexed, isCompound, isUnique }: Declared): SchemaResolver {
  const definitions = new Map(
    typeNames.map((name) => {
      // The other type never has an index of `q`.
      const own = name === 'test:Other' ? indexed.filter((property) => property === 'p') : indexed;
      const definition = parseNodeTypeDefinition({
        name,
        properties: ['p', 'q', 'code'].map((property) => ({
          name: property,
          type: 'String',
          unique: isUnique && property === 'code',
          ...(own.includes(property) ? { index: ['Property'] } : {}),
        })),
        compound_indexes: isCompound
          ? compounds.map((columns, at) => ({ name: `c${at}`, columns: [...columns] }))
          : [],
      });
      return [name as string, newSchemaRecord(definition, name, plainHeader.createdAt)];
    }),
  );
  return new SchemaResolver({
    nodeType: (name) => definitions.get(name),
    archetype: () => undefined,
    elementType: () => undefined,
  });
}

/** Carries out writes on the model and on the tree alike. Ids give the order of children. */
export function writeNodes(
  nodes: Map<string, IndexedNode>,
  writes: readonly Write[],
  writer: TreeWriter,
  workspace: string,
): void {
  for (const each of writes) {
    if (each.do === 'remove') {
      if (!nodes.delete(each.id)) continue;
      writer.remove(workspace, writer.head.byId(workspace, each.id) as NodeRecord);
    } else if (each.do === 'many') {
      for (let at = 0; at < MANY; at += 1) {
        const properties: JsonObject = each.p === undefined ? {} : { p: each.p };
        const node = { id: `m${at}`, nodeType: 'test:One', properties, relatedTo: [] };
        writeNode(nodes, { ...node, path: `/m${at}` }, writer, workspace);
      }
    } else {
      const { code, p, q, reference: references } = each;
      const properties = Object.fromEntries(
        Object.entries({ p, q, code, references }).filter(([, found]) => found !== undefined),
      ) as JsonObject;
      const node = { id: each.id, nodeType: each.nodeType, properties, relatedTo: each.relatedTo };
      writeNode(nodes, { ...node, path: `/${each.prefix}${each.id}` }, writer, workspace);
    }
  }
}

function writeNode(
  nodes: Map<string, IndexedNode>,
  given: Omit<IndexedNode, 'createdAt' | 'updatedAt'>,
  writer: TreeWriter,
  workspace: string,
): void {
  const revision = formatRevision(writer.revision);
  const old = nodes.get(given.id);
  const now = new Date(Number.parseInt(revision, 10)).toISOString();
  const node: IndexedNode = { ...given, createdAt: old?.createdAt ?? now, updatedAt: now };
  nodes.set(node.id, node);
  const relations: Relation[] = node.relatedTo.map((target) => ({
    target,
    workspace,
    target_node_type: 'test:One',
    relation_type: 'likes',
    weight: null,
  }));
  const { createdAt, id: nodeId, nodeType, path, updatedAt } = node;
  const place = { id: nodeId, name: pathName(path), path, parentId: ROOT_ID, orderKey: `a${nodeId}` };
  const operation = old === undefined ? ('added' as const) : ('modified' as const);
  const stamps = { createdAt, updatedAt, revision, operation };
  const record = makeNodeRecord(
    { ...plainHeader, ...place, ...stamps, nodeType, relations },
    node.properties,
  );
  if (old === undefined) writer.add(workspace, record);
  else writer.replace(workspace, writer.head.byId(workspace, nodeId) as NodeRecord, record);
}
