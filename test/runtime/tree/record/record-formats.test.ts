import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { parentName } from '#runtime/content/path.ts';
import { encodeRevision, parseRevision } from '#runtime/content/revision.ts';
import { translationsField } from '#runtime/content/translations/translation.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { NODE_RECORD_FORMAT } from '#runtime/tree/record/formats.ts';
import {
  makeNodeRecord,
  makeNodeRecordInSteps,
  withHeader,
  withHeaderInSteps,
} from '#runtime/tree/record/make-record.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { WantedText } from '#runtime/tree/record/wanted-text.ts';
import { WantedProperty } from '#runtime/tree/record/property-table.ts';
import { Column, type TextColumn } from '#runtime/tree/record/record-layout.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import { STEP_BYTES } from '#runtime/tree/record/steps.ts';
import { anyHeader, anyJson, anyObject, anyText, headerOf } from '#test/support/node-headers.ts';
import { recordOfFormat1 } from '#test/support/record-format-1.ts';
import { stepped } from '#test/support/stepped.ts';

/** The columns of a header. */
function columnsOf(h: NodeHeader): ReadonlyMap<TextColumn, string | null> {
  return new Map<TextColumn, string | null>([
    [Column.parentId, h.parentId],
    [Column.changedLocale, h.changedLocale],
    [Column.parent, parentName(h.path)],
    [Column.orderKey, h.orderKey],
    [Column.createdAt, h.createdAt],
    [Column.updatedAt, h.updatedAt],
    [Column.createdBy, h.createdBy],
    [Column.updatedBy, h.updatedBy],
    [Column.publishedAt, h.publishedAt],
    [Column.publishedBy, h.publishedBy],
    [Column.ownerId, h.ownerId],
    [Column.id, h.id],
    [Column.name, h.name],
    [Column.path, h.path],
    [Column.nodeType, h.nodeType],
    [Column.archetype, h.archetype],
  ]);
}

/** The node object of an answer. */
function nodeObject(h: NodeHeader, properties: JsonObject): JsonObject {
  return {
    id: h.id,
    name: h.name,
    path: h.path,
    node_type: h.nodeType,
    archetype: h.archetype,
    properties: { ...properties, $supertypes: [], $mixins: [] },
    parent: parentName(h.path),
    order_key: h.orderKey,
    has_children: true,
    workspace: 'w',
    version: h.version,
    created_at: h.createdAt,
    updated_at: h.updatedAt,
    created_by: h.createdBy,
    updated_by: h.updatedBy,
    published_at: h.publishedAt,
    published_by: h.publishedBy,
    translations: h.translations === null ? null : translationsField(h.translations),
    owner_id: h.ownerId,
    relations: h.relations as unknown as JsonValue,
  };
}

const derived = { workspace: 'w', hasChildren: true, typeText: () => '"$supertypes":[],"$mixins":[]' };

/** The bytes of a record in each format, also given another header and made in steps. */
function inEveryFormat(header: NodeHeader, properties: JsonObject): readonly Buffer[] {
  const format1 = recordOfFormat1(header, properties);
  const other = headerOf({ ownerId: '"', relations: [], path: '/ü' });
  return [
    format1,
    makeNodeRecord(header, properties).bytes,
    withHeader(new NodeRecord(format1), header).bytes,
    withHeader(makeNodeRecord(other, properties), header).bytes,
    stepped(makeNodeRecordInSteps(header, properties)).value.bytes,
    stepped(withHeaderInSteps(new NodeRecord(format1), header)).value.bytes,
  ];
}

function expectRecord(bytes: Buffer, header: NodeHeader, properties: JsonObject): void {
  const facts = new NodeRecord(bytes);
  expect({
    id: facts.id,
    name: facts.name,
    path: facts.path,
    nodeType: facts.nodeType,
    archetype: facts.archetype,
    parentId: facts.parentId,
    orderKey: facts.orderKey,
    version: facts.version,
    createdAt: facts.createdAt,
    createdBy: facts.createdBy,
    updatedAt: facts.updatedAt,
    updatedBy: facts.updatedBy,
    publishedAt: facts.publishedAt,
    publishedBy: facts.publishedBy,
    ownerId: facts.ownerId,
    revision: facts.revision,
    sinceKey: facts.sinceKey,
    hasTranslations: facts.hasTranslations,
    hasRelations: facts.hasRelations,
  }).toEqual({
    id: header.id,
    name: header.name,
    path: header.path,
    nodeType: header.nodeType,
    archetype: header.archetype,
    parentId: header.parentId,
    orderKey: header.orderKey,
    version: header.version,
    createdAt: header.createdAt,
    createdBy: header.createdBy,
    updatedAt: header.updatedAt,
    updatedBy: header.updatedBy,
    publishedAt: header.publishedAt,
    publishedBy: header.publishedBy,
    ownerId: header.ownerId,
    revision: header.revision,
    sinceKey: encodeRevision(parseRevision(header.revision)),
    hasTranslations: header.translations !== null,
    hasRelations: header.relations.length > 0,
  });
  expect(new NodeRecord(bytes).header).toEqual(header);
  const read = new NodeRecord(bytes);
  for (const [name, value] of Object.entries(properties)) expect(read.property(name)).toEqual(value);
  expect(read.propertiesText).toBe(JSON.stringify(properties));
  expect(read.mayRefer).toBe(JSON.stringify(properties).includes('"svc:ref"'));
  expect(parseExactJson(read.render(derived))).toEqual(
    parseExactJson(JSON.stringify(nodeObject(header, properties))),
  );
  const relations = [{ target: ',"relations":[', weight: null }] as never;
  expect(JSON.parse(read.render({ ...derived, relations, text: '{}' }))).toMatchObject({ relations });
}

function expectView(
  bytes: Buffer,
  header: NodeHeader,
  properties: JsonObject,
  names: readonly string[],
): void {
  const view = new RecordView();
  // The memory is that of other records as well.
  view.point(Buffer.concat([bytes, bytes]), bytes.length);
  expect([view.isWhole, view.hasColumns, view.version(), view.sinceKey()]).toEqual([
    true,
    true,
    header.version,
    encodeRevision(parseRevision(header.revision)),
  ]);
  expect([view.hasTranslations, view.hasRelations]).toEqual([
    header.translations !== null,
    header.relations.length > 0,
  ]);
  for (const [column, text] of columnsOf(header)) {
    expect([column, view.column(column)]).toEqual([column, text]);
    for (const [, other] of [...columnsOf(header), [0, names.join()] as const]) {
      const wanted = new WantedText(other ?? 'null');
      expect(view.columnEquals(column, wanted)).toBe(text === wanted.text);
      expect(view.columnStartsWith(column, wanted)).toBe(text?.startsWith(wanted.text) === true);
    }
    if (text !== null) {
      const start = [...text].slice(0, 3).join('');
      expect(view.columnStartsWith(column, new WantedText(start))).toBe(true);
    }
  }
  for (const name of [...Object.keys(properties), ...names]) {
    const value = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const wanted = new WantedProperty(name);
    expect(view.property(wanted)).toEqual(value);
    expect(view.propertyText(wanted)).toBe(JSON.stringify(value));
    const number = view.propertyNumber(wanted);
    if (number !== undefined) expect(number).toBe(value);
    else expect(Number.isInteger(value) && Math.abs(value as number) < 1e15).toBe(false);
  }
  view.verify();
  expect(view.record().bytes.equals(bytes)).toBe(true);
}

describe('a node record of every format', () => {
  it('is read as it was written, by a record and by a view', () => {
    fc.assert(
      fc.property(
        anyHeader,
        anyObject(anyJson, 12),
        fc.array(anyText, { maxLength: 3 }),
        (header, properties, names) => {
          for (const bytes of inEveryFormat(header, properties)) {
            expectRecord(bytes, header, properties);
            expectView(bytes, header, properties, names);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('has the same bytes, however it was made', () => {
    fc.assert(
      fc.property(anyHeader, anyObject(anyJson, 5), (header, properties) => {
        const [, made, ...others] = inEveryFormat(header, properties);
        expect(made?.[0]).toBe(NODE_RECORD_FORMAT);
        for (const other of others) expect(other.equals(made as Buffer)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('is the same for who gives it the header that it has', () => {
    fc.assert(
      fc.property(anyHeader, anyObject(anyJson, 3), (header, properties) => {
        for (const bytes of inEveryFormat(header, properties)) {
          const known = new NodeRecord(bytes, header);
          expect(known.properties).toEqual(properties);
          expect(known.render(derived)).toBe(new NodeRecord(bytes).render(derived));
        }
      }),
      { numRuns: 20 },
    );
  });

  it('may have hundreds of properties, with long names', () => {
    for (const count of [0, 1, 2, 300]) {
      const properties: Record<string, JsonValue> = {};
      for (let index = 0; index < count; index += 1)
        properties[`${'ü'.repeat(index)}${index}`] = index % 3 === 0 ? index / 4 : `${index}`;
      for (const bytes of inEveryFormat(headerOf(), properties)) {
        expectRecord(bytes, headerOf(), properties);
        expectView(bytes, headerOf(), properties, ['none']);
      }
    }
  });

  it('may be large', () => {
    const relation = { target: 't', workspace: 'w', target_node_type: 'x', relation_type: 'r', weight: 1 };
    const overlay = { type: 'properties', data: { '/text': 'ü'.repeat(50_000) }, origins: {} };
    const header = headerOf({
      path: '/日本',
      relations: Array.from({ length: 2_000 }, () => relation),
      translations: { de: overlay } as never,
    });
    const properties = { 'svc:ref': 1, text: `${'Käse 🌳 '.repeat(60_000)}"`, last: { 'svc:ref': 'n1' } };
    for (const bytes of inEveryFormat(header, properties)) {
      expect(bytes.length).toBeGreaterThan(2 * STEP_BYTES);
      const view = new RecordView();
      view.point(bytes, bytes.length);
      expect([view.column(Column.path), view.propertyNumber(new WantedProperty('svc:ref'))]).toEqual([
        '/日本',
        1,
      ]);
      expect(view.record().header).toEqual(header);
      expect(new NodeRecord(bytes).properties).toEqual(properties);
      expect(new NodeRecord(bytes).mayRefer).toBe(true);
      expect(JSON.parse(new NodeRecord(bytes).render(derived))).toEqual(nodeObject(header, properties));
    }
  });

  it('of a newer format is refused, with what to do', () => {
    const { bytes } = makeNodeRecord(headerOf(), {});
    bytes[0] = NODE_RECORD_FORMAT + 1;
    const newer = expect.objectContaining({
      code: 'DATA_CORRUPTED',
      message: expect.stringContaining('start a newer build'),
    });
    expect(() => new NodeRecord(bytes)).toThrow(newer);
    expect(() => new RecordView().point(bytes, bytes.length)).toThrow(newer);
  });

  it.each([
    '01-0',
    '1-00',
    '-1',
    '1-',
    '1',
    '',
    'a-1',
    '1-a',
    '1-1 ',
    '1-1-1',
    `${2 ** 48}-0`,
    `0-${2 ** 32}`,
  ])("is not written with '%s' in place of a revision", (revision) => {
    expect(() => makeNodeRecord(headerOf({ revision }), {})).toThrow(/revision/);
  });

  it.each([
    ['a version of more than four bytes', { version: 2 ** 32 }],
    ['an unknown operation', { operation: 'moved' as never }],
  ])('is not written with %s', (_, fields) => {
    expect(() => makeNodeRecord(headerOf(fields), {})).toThrow(/version|operation/);
  });
});
