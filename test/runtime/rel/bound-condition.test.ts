import { describe, expect, it } from 'vitest';
import { compileCondition } from '#runtime/rel/condition.ts';
import { NARROWED_MAX } from '#runtime/rel/evaluation/narrowing.ts';
import type { Caller } from '#runtime/rel/ports.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { wantedProperty } from '#runtime/tree/record/property-table.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import { type ConditionNode, tooLong } from '#runtime/rel/ports.ts';
import { headerOf } from '#test/support/node-headers.ts';
import { bob, nobody, nodeOf } from './condition-world.ts';

const bind = (text: string, caller: Caller = bob) => compileCondition(text).bind(caller);

describe('what a condition needs', () => {
  const nothing = {
    columns: [],
    properties: [],
    anyProperty: false,
    readsProperties: false,
    relations: false,
  };

  it.each([
    ['node.created_by == auth.user_id && node.path.depth() > 1', { columns: ['created_by', 'path'] }],
    ["node['path'] == '/a'", { columns: ['path'] }],
    [
      "node.status == 'live' || node.meta.tags[0] == 'x'",
      { properties: ['meta', 'status'], readsProperties: true },
    ],
    ["node['status']", { properties: ['status'], readsProperties: true }],
    ["node.id RELATES auth.local_user_id VIA 'X'", { columns: ['id'], relations: true }],
    [
      'node[auth.email]',
      {
        columns: ['created_by', 'id', 'name', 'node_type', 'owner_id', 'path', 'updated_by', 'workspace'],
        anyProperty: true,
        readsProperties: true,
      },
    ],
    ['auth.is_anonymous', {}],
    ['1 <', {}],
    ['false && node.secret', {}],
    ["node['status'].foo()", {}],
  ])('%s', (text, needs) => {
    expect(compileCondition(text).needs).toEqual({ ...nothing, ...needs });
  });

  it('is less for one caller', () => {
    const text = "auth.roles.contains('editor') || node.status == 'live'";
    expect(compileCondition(text).needs.properties).toEqual(['status']);
    expect(bind(text).needs).toEqual(nothing);
    expect(bind(text, nobody).needs.properties).toEqual(['status']);
    expect(bind('node[auth.email]').needs).toEqual({
      ...nothing,
      properties: ['bob@example.com'],
      readsProperties: true,
    });
  });
});

describe('what is decided for one caller', () => {
  it.each([
    ['auth.is_anonymous', false],
    ['!auth.is_anonymous', true],
    ["auth.roles.contains('editor')", true],
    ["auth.roles.contains('editor') || node.x", true],
    ["auth.roles.contains('admin') && node.x", false],
    ["node.x && auth.roles.contains('admin')", false],
    ['node.x && nope', false],
    ['nope || node.x', false],
    ['node.x || nope', undefined],
    ['(node.x && false) || (node.y && nope)', false],
    ["node.id == 'a' && node.id == 'b'", false],
    ['node.id == 5', false],
    ['[].contains(node.id)', false],
    ["node.path.descendantOf('/a') && node.path.descendantOf('/b')", false],
    ["node.path.descendantOf('/a') && node.path == '/b'", false],
    // It fails for some nodes, and so is no constant.
    ['node.x > 1 || true', undefined],
    ['!(node.x && false)', undefined],
    ["'u1' RELATES 'u2' VIA 'X'", undefined],
    ['node.x', undefined],
  ])('%s: %s', (text, decided) => {
    expect(bind(text).decided).toBe(decided);
    if (decided !== undefined) expect(bind(text).holds(nodeOf())).toBe(decided);
  });

  it('a condition that fails for a node does not hold, although its other side would', () => {
    expect(bind('node.title > 1 || true').holds(nodeOf({ properties: { title: 'a' } }))).toBe(false);
    expect(bind('!(node.title > 1 && false)').holds(nodeOf({ properties: { title: 'a' } }))).toBe(false);
  });
});

describe('where a condition narrows a scan to', () => {
  const none = { tops: undefined, values: {} };

  it.each([
    ["node.path.descendantOf('/a/b')", { tops: ['/a/b'] }],
    ["node.path.descendantOf('/a/b/')", { tops: ['/a/b'] }],
    ['node.path.descendantOf(auth.home)', { tops: ['/users/internal/bob'] }],
    ["node.path.childOf('/a')", { tops: ['/a'] }],
    ["'/a'.ancestorOf(node.path)", { tops: ['/a'] }],
    ["node.path.startsWith('/x/')", { tops: ['/x'] }],
    ["node.path.startsWith('/x/ab')", { tops: ['/x'] }],
    ["node.path.startsWith('/x/y/ab')", { tops: ['/x/y'] }],
    ["node.path.startsWith('/x')", {}],
    ["node.path.startsWith('/')", {}],
    ["node.path.startsWith('')", {}],
    ["node.path.startsWith('x/')", {}],
    ["node.path.startsWith('/x//')", { tops: ['/x'] }],
    ["node.path.descendantOf('/')", {}],
    ["node.path.descendantOf('')", {}],
    ["node.path.descendantOf('a')", {}],
    ["node.path.ancestorOf('/a/b')", {}],
    ["node.path.endsWith('/a/')", {}],
    ["node.name.startsWith('/x/')", {}],
    ["node.path == '/a'", { tops: ['/a'], values: { path: ['/a'] } }],
    ['node.created_by == auth.user_id', { values: { created_by: ['i1'] } }],
    ['auth.user_id == node.created_by', { values: { created_by: ['i1'] } }],
    ["node.id == 'x'", { values: { id: ['x'] } }],
    ["node.owner_id == 'x'", { values: { owner_id: ['x'] } }],
    ['node.owner_id == null', {}],
    ["node.id != 'x'", {}],
    ["!(node.id == 'x')", {}],
    ["!(node.id != 'x')", {}],
    ["['b', 'a', 'b'].contains(node.id)", { values: { id: ['a', 'b'] } }],
    ["['a', null].contains(node.owner_id)", {}],
    ["['a', 5].contains(node.id)", { values: { id: ['a'] } }],
    ['auth.roles.contains(node.name)', { values: { name: ['editor', 'viewer'] } }],
    ["'abc'.contains(node.id)", {}],
    ["node.id.contains('a')", {}],
    ["node.x == 'a'", {}],
    ["node.id == 'a' && node.x", { values: { id: ['a'] } }],
    ["node.id == 'a' || node.x", {}],
    ["node.id == 'a' || node.id == 'b'", { values: { id: ['a', 'b'] } }],
    ["node.id == 'a' || node.name == 'b'", {}],
    ["(node.id == 'a' || node.id == 'b') && ['b', 'c'].contains(node.id)", { values: { id: ['b'] } }],
    [
      "node.path.descendantOf('/a') && node.id == 'x' && node.owner_id == 'y'",
      { tops: ['/a'], values: { id: ['x'], owner_id: ['y'] } },
    ],
    ["node.path.descendantOf('/a') || node.path.descendantOf('/b')", { tops: ['/a', '/b'] }],
    ["node.path.descendantOf('/a') || node.path.descendantOf('/a/b')", { tops: ['/a'] }],
    ["node.path.descendantOf('/a') && node.path.descendantOf('/a/b')", { tops: ['/a/b'] }],
    ["node.path.descendantOf('/a') && node.path.descendantOf('/a')", { tops: ['/a'] }],
    [
      "['/a/b', '/a/c', '/b', '/ab'].contains(node.path) && node.path.startsWith('/a/')",
      { tops: ['/a/b', '/a/c'], values: { path: ['/a/b', '/a/c', '/ab', '/b'] } },
    ],
    ["node.path.descendantOf('/a') || node.path.descendantOf('/ab')", { tops: ['/a', '/ab'] }],
    ["node.path.descendantOf('/a') || node.path.descendantOf('/')", {}],
    ["node.path.descendantOf('/a') || nope", { tops: ['/a'] }],
    ["node.path.descendantOf('/a') || auth.is_anonymous", { tops: ['/a'] }],
    ["node.path.descendantOf('/a') || (node.x && false)", { tops: ['/a'] }],
    [
      "(node.path.descendantOf('/a') || node.path.descendantOf('/b')) && (node.path.descendantOf('/b/c') || node.path.descendantOf('/d'))",
      { tops: ['/b/c'] },
    ],
  ])('%s', (text, narrowing) => {
    expect(bind(text).narrowing).toEqual({ ...none, ...narrowing });
  });

  it('is not more than a few values', () => {
    const list = (count: number): string =>
      `[${Array.from({ length: count }, (_, index) => `'/x/${index}'`).join(', ')}].contains(node.path)`;
    expect(bind(list(NARROWED_MAX)).narrowing.values.path).toHaveLength(NARROWED_MAX);
    expect(bind(list(NARROWED_MAX)).narrowing.tops).toHaveLength(NARROWED_MAX);
    expect(bind(list(NARROWED_MAX + 1)).narrowing).toEqual(none);
    expect(bind(`${list(NARROWED_MAX)} || node.path == '/y'`).narrowing).toEqual(none);
  });
});

describe('a stored row', () => {
  /** A row of a scan as the node of a condition, and whether a property of it was decoded. */
  class Row implements ConditionNode {
    readonly #row = new RecordView();
    decoded = 0;
    readonly workspace = 'garden';

    constructor(bytes: Buffer) {
      this.#row.point(bytes, bytes.length);
    }

    get id(): string {
      return this.#row.column(Column.id)!;
    }

    get name(): string {
      return this.#row.column(Column.name)!;
    }

    get path(): string {
      return this.#row.column(Column.path)!;
    }

    get nodeType(): string {
      return this.#row.column(Column.nodeType)!;
    }

    get createdBy(): string | null {
      return this.#row.column(Column.createdBy);
    }

    get updatedBy(): string | null {
      return this.#row.column(Column.updatedBy);
    }

    get ownerId(): string | null {
      return this.#row.column(Column.ownerId);
    }

    property(name: string, lengthMax: number) {
      const wanted = wantedProperty(name);
      this.decoded += 1;
      const text = this.#row.propertyText(wanted);
      if (text === undefined || text.length <= lengthMax) return this.#row.property(wanted);
      return tooLong;
    }
  }

  const header = headerOf({ id: 'b1', name: 'north', path: '/beds/north', createdBy: 'i1', ownerId: null });
  const row = (): Row =>
    new Row(
      makeNodeRecord(header, {
        status: 'live',
        big: 9007199254740993n,
        text: 'x'.repeat(1_000_000),
        created_by: 'i2',
      }).bytes,
    );

  it('answers conditions from its bytes, and decodes no property for columns', () => {
    const columns = row();
    expect(bind("node.created_by == auth.user_id && node.path.childOf('/beds')").holds(columns)).toBe(true);
    expect(bind('node.owner_id == null').holds(columns)).toBe(true);
    expect(columns.decoded).toBe(0);
    expect(bind("node.status == 'live' && node.big == 9007199254740993").holds(row())).toBe(true);
    expect(bind('node.big == 9007199254740992').holds(row())).toBe(false);
    expect(bind('node.missing == null').holds(row())).toBe(true);
  });

  it('does not decode a property that is too long', () => {
    expect(bind("node.text.startsWith('x')").explain(row()).error?.kind).toBe('work');
  });
});
