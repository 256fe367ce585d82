import { describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { compileCondition, FAULTS_MAX } from '#runtime/rel/condition.ts';
import { bed, bedRelations, outcome, table } from './condition-table.ts';
import { bob, type NodeFields, nobody, nodeOf, relationsOf } from './condition-world.ts';

describe('values of conditions', () => {
  table('literal', [
    ['null', 'null'],
    ['true', 'true'],
    ['false', 'false'],
    ['0', '0'],
    ['-1', '-1'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9007199254740993', '9007199254740993'],
    ['1.5', '1.5'],
    ['5.0', '5.0'],
    ['-0.0', '0.0'],
    ['1e3', '1000.0'],
    ['2.5E-3', '0.0025'],
    ['1e21', '1e+21'],
    ["'a'", "'a'"],
    ['"a\'b"', "'a\\'b'"],
    ["'\\n\\r\\t\\\\\\'\\\"'", "'\\n\\r\\t\\\\\\'\"'"],
    ["'ä\u{1f600}'", "'ä\u{1f600}'"],
    ["'line\nbreak'", "'line\\nbreak'"],
    ['[]', '[]'],
    ["[1, -2.5, 'a', null, [true]]", "[1, -2.5, 'a', null, [true]]"],
    ['{}', '{}'],
    ['{a: 1, \'b c\': {"d": []}}', "{'a': 1, 'b c': {'d': []}}"],
    ['(((5)))', '5'],
  ]);

  table('values of the caller', [
    ['auth.user_id', "'i1'"],
    ['auth.local_user_id', "'u1'"],
    ['auth.email', "'bob@example.com'"],
    ['auth.home', "'/users/internal/bob'"],
    ['auth.roles', "['editor', 'viewer']"],
    ['auth.groups', "['staff']"],
    ['auth.is_anonymous', 'false'],
    ['auth.is_system', 'false'],
    ['auth.acting_as_ward', 'null'],
    ['auth.active_stewardship_source', 'null'],
    ["auth['user_id']", "'i1'"],
    ["auth['user' + '_id']", "'i1'"],
    ["auth[node.missing.join() || 'email']", 'error: Expected a name, not boolean'],
    ['auth[node.title]', "error: Nothing has the key 'North bed' here"],
    ['auth.user_Id', 'error: Undefined variable: auth.user_Id; did you mean user_id?'],
    ['auth.password', 'error: Undefined variable: auth.password'],
    ["auth['password']", 'error: Undefined variable: auth.password'],
    ['auth', "error: 'auth' is no value; write auth.<name>"],
    ['auth[1]', 'error: Expected a name, not integer'],
  ]);

  table('columns of the node', [
    ['node.id', "'b1'"],
    ['node.name', "'north'"],
    ['node.path', "'/beds/north'"],
    ['node.node_type', "'garden:Bed'"],
    ['node.created_by', "'i1'"],
    ["node['created_by']", "'i1'"],
    ["node['created' + '_by']", "'i1'"],
    ['node.updated_by', "'i2'"],
    ['node.owner_id', 'null'],
    ['node.workspace', "'garden'"],
    ['node', "error: 'node' is no value; write node.<name>"],
    ['!node', "error: 'node' is no value; write node.<name>"],
    ['node.length()', "error: 'node' is no value; write node.<name>"],
    ['node == null', "error: 'node' is no value; write node.<name>"],
  ]);

  table('properties of the node', [
    ['node.title', "'North bed'"],
    ['node.area', '12.5'],
    ['node.big', '9007199254740993'],
    ['node.nothing', 'null'],
    ['node.missing', 'null'],
    ["node['title']", "'North bed'"],
    ["node['missing']", "error: Nothing has the key 'missing' here"],
    ["node['nothing']", 'null'],
    ['node[node.name]', "error: Nothing has the key 'north' here"],
    ["node[node.tags[0] + 'rea']", '12.5'],
    ["node[node.title.substring(0, 0) + 'created_by']", "'i1'"],
    ['node[node.count]', 'error: Expected a name, not integer'],
    ["node.meta['svc:key']", '1'],
    ['node.meta.deep.list[1][0]', '2'],
    ['node.title.x', 'null'],
    ['node.tags.length', 'null'],
    ['node.count.x', 'null'],
    ['node.__proto__', 'null'],
    ['node.constructor', 'null'],
    ['node.toString', 'null'],
    ['node.hasOwnProperty.call', 'null'],
    ['node.meta.__proto__', 'null'],
    ['node.meta.constructor', 'null'],
    ["node['constructor']", "error: Nothing has the key 'constructor' here"],
    ["node.meta['__proto__']", "error: Nothing has the key '__proto__' here"],
    ["{'__proto__': 5}.__proto__", '5'],
    ["'abc'.constructor", 'null'],
    ['[1].length', 'null'],
    ['[1].toString()', 'error: Unknown method: toString'],
    ["'a'.constructor()", 'error: Unknown method: constructor'],
    ['node.__proto__()', 'error: Unknown method: __proto__'],
  ]);

  table('stored values with a meaning', [
    ['node.friend', "'u7'"],
    ['node.friends', "['u7', 'u8']"],
    ["node.friends.contains('u8')", 'true'],
    ['node.link', "'https://example.com/a'"],
    ['node.file', "'f1'"],
    ['node.place', 'null'],
    ['node.places', 'null'],
    ['node.notAPlace.type', "'Point'"],
    ['node.block', 'null'],
    ['node.block.text', 'null'],
    ['node.blocks', '[null, 5]'],
    ['node.body.items', '[null]'],
    ['node.body.uuid', "'c1'"],
    ['node.day', "'2026-11-27'"],
    ["node.price == '12.50'", 'true'],
  ]);

  table('unknown roots', [
    ['nope', 'error: Undefined variable: nope; did you mean node?'],
    ['nope.x', 'error: Undefined variable: nope; did you mean node?'],
    ["nope['x']", 'error: Undefined variable: nope; did you mean node?'],
    ['nodes.x', 'error: Undefined variable: nodes; did you mean node?'],
    ['constructor', 'error: Undefined variable: constructor'],
    ['__proto__.x', 'error: Undefined variable: __proto__'],
    ['true && nope', 'error: Undefined variable: nope; did you mean node?'],
    ['[].first() == nope', 'error: Undefined variable: nope; did you mean node?'],
  ]);
});

describe('operators of conditions', () => {
  table('[REL-003] equality', [
    ['1 == 1.0', 'true'],
    ["'a' == 'a'", 'true'],
    ["1 == '1'", 'false'],
    ['1 != 2', 'true'],
    ['null == null', 'true'],
    ['null == false', 'false'],
    ["null == ''", 'false'],
    ['[1, [2.0]] == [1.0, [2]]', 'true'],
    ['[1, 2] == [2, 1]', 'false'],
    ['[1] == [1, 2]', 'false'],
    ['{a: 1, b: [2]} == {b: [2], a: 1.0}', 'true'],
    ['{a: 1} == {a: 1, b: 2}', 'false'],
    ['{a: 1} == {b: 1}', 'false'],
    ['{a: null} == {}', 'false'],
    ["{'__proto__': 1} == {a: 1}", 'false'],
    ["{'toString': null} == {'valueOf': null}", 'false'],
    ['[] == {}', 'false'],
    ['{} == []', 'false'],
    ['1.0 == {}', 'false'],
    ['9007199254740993 == 9007199254740992', 'false'],
    ['9007199254740993 == 9007199254740992.0', 'false'],
    ['node.big == 9007199254740993', 'true'],
    ['node.big == 9007199254740992', 'false'],
    ['node.giant == 1e300', 'true'],
    ['0.0 == -0.0', 'true'],
    ['node.huge == node.huge', 'true'],
    ["node.meta == {flag: true, deep: {list: [1, [2]]}, 'svc:key': 1}", 'true'],
  ]);

  table('order', [
    ['1 < 2', 'true'],
    ['2 <= 2.0', 'true'],
    ['2.5 > 2', 'true'],
    ['1 >= 2', 'false'],
    ['node.big > 9007199254740992', 'true'],
    ['node.big > 9007199254740992.0', 'true'],
    ['node.huge > 9223372036854775807', 'true'],
    ['node.huge < node.giant', 'true'],
    ["'a' < 'b'", 'true'],
    ["'Z' < 'a'", 'true'],
    ["'a' < 'a'", 'false'],
    // U+FF5E comes before U+1F600 in UTF-8, and after its first half in UTF-16.
    ["'\uff5e' < '\u{1f600}'", 'true'],
    ['node.title > 5', 'error: Cannot compare string with integer'],
    ["node.count > '5'", 'error: Cannot compare integer with string'],
    ['null < 1', 'error: Cannot compare null with integer'],
    ['node.missing > 1', 'error: Cannot compare null with integer'],
    ['1.5 < null', 'error: Cannot compare float with null'],
    ['true < false', 'error: Cannot compare boolean with boolean'],
    ['[1] < [2]', 'error: Cannot compare array with array'],
    ['{} < {}', 'error: Cannot compare object with object'],
  ]);

  table('[REL-003] arithmetic', [
    ['1 + 2 * 3', '7'],
    ['(1 + 2) * 3', '9'],
    ['7 - 2 - 1', '4'],
    ['2 - 1', '1'],
    ['2 -1', '1'],
    ['2 - -1', '3'],
    ['--1', '1'],
    ['5 / 2', '2'],
    ['5/2 == 2', 'true'],
    ['-5 / 2', '-2'],
    ['5 % 3', '2'],
    ['-5 % 3', '-2'],
    ['5.0 / 2', '2.5'],
    ['5 / 2.0', '2.5'],
    ['4.0 / 2', '2.0'],
    ['(5.0 - 1.0) / 3 > 1', 'true'],
    ['(5 - 1) / 3 > 1', 'false'],
    ['1.5 + 1', '2.5'],
    ['5.5 % 2', '1.5'],
    ['100 / 10 / 5', '2'],
    ['-1 / 2', '0'],
    ['0 * -5', '0'],
    ['-0', '0'],
    ["'a' + 'b'", "'ab'"],
    ["'a' + 'b' == 'ab'", 'true'],
    ["'a' + 1", 'error: Cannot add string and integer'],
    ["1 + 'a'", 'error: Cannot add integer and string'],
    ["'a' * 2", 'error: Cannot multiply string and integer'],
    ['null + 1', 'error: Cannot add null and integer'],
    ['[1] + [2]', 'error: Cannot add array and array'],
    ['true - 1', 'error: Cannot subtract boolean and integer'],
    ['1/0', 'error: Division by zero'],
    ['1 % 0', 'error: Division by zero'],
    ['1.0 / 0', 'error: Division by zero'],
    ['1 / 0.0', 'error: Division by zero'],
    ['1 % -0.0', 'error: Division by zero'],
    ['9223372036854775807 / 0', 'error: Division by zero'],
    ['9223372036854775807 % 0', 'error: Division by zero'],
    ['9007199254740992 + 1', '9007199254740993'],
    ['node.big + 1', '9007199254740994'],
    ['node.big - 1 == 9007199254740992', 'true'],
    ['3037000500 * 3037000500', 'error: The result is an integer beyond 64 bits'],
    ['3037000499 * 3037000499', '9223372030926249001'],
    ['9223372036854775807 + 1', 'error: The result is an integer beyond 64 bits'],
    ['-9223372036854775808 - 1', 'error: The result is an integer beyond 64 bits'],
    ['-9223372036854775808 / -1', 'error: The result is an integer beyond 64 bits'],
    ['-9223372036854775808 % -1', '0'],
    ['-(-9223372036854775808)', 'error: The result is an integer beyond 64 bits'],
    ['9223372036854775807 / 2', '4611686018427387903'],
    ['node.huge + 1', 'error: Cannot calculate with an integer beyond 64 bits'],
    ['node.huge + 1.5', 'error: Cannot calculate with an integer beyond 64 bits'],
    ['-node.huge', 'error: Cannot calculate with an integer beyond 64 bits'],
    ['node.giant * node.giant', 'error: The result is beyond the range of floats'],
    ['node.giant - node.giant', '0.0'],
    ['-1.5', '-1.5'],
    ['-5.0', '-5.0'],
    ['-node.count', '-7'],
    ["-'a'", 'error: Cannot negate string'],
    ['-null', 'error: Cannot negate null'],
    ['-true', 'error: Cannot negate boolean'],
    ['-[1]', 'error: Cannot negate array'],
  ]);

  table('[REL-006] what is false', [
    ["!''", 'true'],
    ['![]', 'true'],
    ['!{}', 'true'],
    ['!0', 'true'],
    ['!0.0', 'true'],
    ['!-0.0', 'true'],
    ['!null', 'true'],
    ['!false', 'true'],
    ["!' '", 'false'],
    ['![null]', 'false'],
    ['!{a: null}', 'false'],
    ['!-1', 'false'],
    ['!0.5', 'false'],
    ['!9223372036854775807', 'false'],
    ['!!5', 'true'],
    ['!node.published', 'true'],
    ['!node.empty', 'true'],
    ['!node.meta', 'false'],
  ]);

  table('and, or', [
    ["1 && 'a'", 'true'],
    ["0 || ''", 'false'],
    ["0 || 'a'", 'true'],
    ["1 && ''", 'false'],
    ['true || false && false', 'true'],
    ['(true || false) && false', 'false'],
    ['false && nope', 'false'],
    ['true || nope', 'true'],
    ['node.title && node.missing && nope', 'false'],
    ['node.missing || node.title || nope', 'true'],
    ['nope && false', 'error: Undefined variable: nope; did you mean node?'],
    ['nope || true', 'error: Undefined variable: nope; did you mean node?'],
    ['node.missing || nope', 'error: Undefined variable: nope; did you mean node?'],
    ['!(node.title && nope)', 'error: Undefined variable: nope; did you mean node?'],
    ['node.title == 1 || node.title > 1', 'error: Cannot compare string with integer'],
    ['(node.count && node.title) == true', 'true'],
  ]);

  table('precedence', [
    ['!false == true', 'true'],
    ['!(false == true)', 'true'],
    ['-2 + 3', '1'],
    ['1 + 1 == 2 && 2 < 3', 'true'],
    ['1 + 2 < 4 || nope', 'true'],
    ['!node.missing.deep', 'true'],
    ['-[1, 2][1]', '-2'],
    ['-5.x', 'error: Cannot negate null'],
    ['!-1 == false', 'true'],
    ['-!1', 'error: Cannot negate boolean'],
  ]);
});

describe('null in conditions', () => {
  table('[REL-001] null', [
    ["node.missing.startsWith('x')", 'null'],
    ['node.missing.deep.er', 'null'],
    ['node.missing.deep == null', 'true'],
    ['node.missing.toLowerCase() == null', 'true'],
    ['null.length()', 'null'],
    ['null.isEmpty()', 'null'],
    ['null[0]', 'null'],
    ["null['a']", 'null'],
    ['null.x', 'null'],
    ['node.missing.contains(nope)', 'error: Undefined variable: nope; did you mean node?'],
    ['node.missing[nope]', 'error: Undefined variable: nope; did you mean node?'],
    ['node.missing.foo()', 'error: Unknown method: foo'],
    ['node.missing.contains()', 'error: contains() takes 1 argument, not 0'],
  ]);

  table('index', [
    ['node.tags[0]', "'a'"],
    ['node.tags[1]', "'b'"],
    ['node.tags[2]', 'error: The list has 2 items, and none at 2'],
    ["node.tags[7] == 'x'", 'error: The list has 2 items, and none at 7'],
    ['node.tags[-1]', 'error: The list has 2 items, and none at -1'],
    ['node.tags[9223372036854775807]', 'error: The list has 2 items, and none at 9223372036854775807'],
    ['node.tags[0.0]', 'error: Expected an index, not float'],
    ["node.tags['0']", 'error: Expected an index, not string'],
    ['node.tags[null]', 'error: Expected an index, not null'],
    ["node.meta['flag']", 'true'],
    ["node.meta['none']", "error: Nothing has the key 'none' here"],
    ['node.meta[0]', 'error: Expected a key, not integer'],
    ['node.title[0]', 'error: string has no items'],
    ['5[0]', 'error: integer has no items'],
    ['[1, 2][1]', '2'],
    ['{a: 1}.a', '1'],
    ['{a: 1}.b', 'null'],
  ]);
});

describe('the rules of roles', () => {
  const holdsAt = (text: string, fields: NodeFields, caller = bob): boolean =>
    compileCondition(text).holds(caller, nodeOf(fields), bedRelations);

  it('[REL-002] tells roles and callers without a login apart', () => {
    expect(outcome("auth.roles.contains('editor')")).toBe('true');
    expect(outcome("auth.roles.contains('editor')", nobody)).toBe('false');
    expect(outcome('auth.is_anonymous')).toBe('false');
    expect(outcome('auth.is_anonymous', nobody)).toBe('true');
  });

  it('[REL-005] descendantOf is strict and keeps to whole names', () => {
    const condition = "node.path.descendantOf('/users/bob')";
    expect(holdsAt(condition, { path: '/users/bob' })).toBe(false);
    expect(holdsAt(condition, { path: '/users/bob-2/x' })).toBe(false);
    expect(holdsAt(condition, { path: '/users/bob/x' })).toBe(true);
    expect(holdsAt(condition, { path: '/users/bob/x/y' })).toBe(true);
  });

  it('startsWith compares texts, and so finds a sibling with a longer name', () => {
    const siblings = { path: '/users/internal/bob-2' };
    expect(holdsAt('node.path.startsWith(auth.home)', siblings)).toBe(true);
    expect(holdsAt('node.path.descendantOf(auth.home)', siblings)).toBe(false);
  });

  it('a home that nobody has denies, also when it is negated', () => {
    expect(holdsAt('node.path.descendantOf(auth.home)', {}, nobody)).toBe(false);
    expect(holdsAt('!node.path.descendantOf(auth.home)', {}, nobody)).toBe(false);
  });

  it('a property does not hide a column of its name', () => {
    const forged = { createdBy: 'i2', properties: { created_by: 'i1', id: 'u1' } };
    expect(holdsAt('node.created_by == auth.user_id', forged)).toBe(false);
    expect(holdsAt("node['created_by'] == auth.user_id", forged)).toBe(false);
    expect(
      holdsAt("node['created' + node.gap] == auth.user_id", {
        ...forged,
        properties: { ...forged.properties, gap: '_by' },
      }),
    ).toBe(false);
    expect(holdsAt('node.id == auth.local_user_id', forged)).toBe(false);
  });

  it('[SQLEX-107] [SQLEX-108] [SQLEX-109] [SQLEX-110] the examples of SQL have their outcomes', () => {
    expect(outcome('node.open && node.area > 10')).toBe('true');
    expect(outcome('node.missing.deep == null')).toBe('true');
    expect(outcome('node.title > 5')).toContain('error');
    expect(outcome("node.tags[7] == 'x'")).toContain('error');
    expect(outcome("auth.roles.contains('editor') || nope")).toBe('true');
    expect(outcome("7 / 2 == 3 && node.path.childOf('/beds') && '/a/b'.parent(2) == '/'")).toBe('true');
  });

  it('[REL-007] what does not parse denies', () => {
    const condition = compileCondition('1 < 2 < 3');
    expect(condition.error?.kind).toBe('syntax');
    expect(condition.holds(bob, bed)).toBe(false);
    expect(condition.bind(bob)).toMatchObject({ decided: false });
    expect(condition.bind(bob).holds(bed)).toBe(false);
    expect(condition.bind(bob).holdsWithin(1_000, bed)).toBe(false);
    expect(condition.bind(bob).explain(bed)).toEqual(condition.explain(bob, bed));
  });
});

describe('RELATES', () => {
  table('paths of relations', [
    ["auth.local_user_id RELATES node.id VIA 'TENDS' DIRECTION OUTGOING", 'true'],
    ["auth.local_user_id RELATES node.id VIA 'TENDS' DIRECTION INCOMING", 'false'],
    ["node.id RELATES auth.local_user_id VIA 'TENDS'", 'true'],
    ["node.id RELATES auth.local_user_id VIA 'KNOWS'", 'false'],
    ["node.id RELATES auth.local_user_id VIA ['KNOWS', 'TENDS']", 'true'],
    ["'u1' RELATES 'u3' VIA 'KNOWS'", 'false'],
    ["'u1' RELATES 'u3' VIA 'KNOWS' DEPTH 2", 'true'],
    ["'u1' RELATES 'u2' VIA 'KNOWS' DEPTH 2", 'true'],
    ["'u1' RELATES 'u2' VIA 'KNOWS' DEPTH 2..2", 'false'],
    ["auth.local_user_id RELATES 'u3' VIA 'KNOWS' DEPTH 2..2 DIRECTION OUTGOING", 'true'],
    ["'u3' RELATES 'u1' VIA 'KNOWS' DEPTH 1..2 DIRECTION OUTGOING", 'false'],
    ["'u3' RELATES 'u1' VIA 'KNOWS' DEPTH 1..2 DIRECTION INCOMING", 'true'],
    ["!('u1' RELATES 'u9' VIA 'KNOWS') && 'u1'.length() == 2", 'true'],
    ["('u' + '1') RELATES node.id.trim() VIA 'TENDS'", 'true'],
    ["'u1' RELATES node.owner_id VIA 'KNOWS'", 'error: RELATES takes two ids, not null'],
    ["!('u1' RELATES node.owner_id VIA 'KNOWS')", 'error: RELATES takes two ids, not null'],
    ["null RELATES 'u1' VIA 'KNOWS'", 'error: RELATES takes two ids, not null'],
    ["'u1' RELATES 5 VIA 'KNOWS'", 'error: RELATES takes two ids, not integer'],
  ]);

  it('is not known before there are relations, so a bound condition still asks', () => {
    const bound = compileCondition("auth.local_user_id RELATES 'u2' VIA 'KNOWS'").bind(bob);
    expect(bound.decided).toBeUndefined();
    expect(bound.needs.relations).toBe(true);
    expect(bound.holds(bed, bedRelations)).toBe(true);
    expect(bound.holds(bed, relationsOf([]))).toBe(false);
  });

  it('fails where relations cannot be read', () => {
    const condition = compileCondition("!('u1' RELATES 'u9' VIA 'KNOWS')");
    expect(condition.holds(bob, bed)).toBe(false);
    expect(condition.explain(bob, bed).error?.message).toBe('Relations cannot be read here');
  });

  it('fails when the search was given up', () => {
    const condition = compileCondition("!('u1' RELATES 'u9' VIA 'KNOWS')");
    const tired = { related: () => undefined };
    expect(condition.holds(bob, bed, tired)).toBe(false);
    expect(condition.explain(bob, bed, tired).error?.kind).toBe('work');
  });
});

describe('compiled conditions', () => {
  it('let errors of the node and the relations through', () => {
    const broken = nodeOf();
    Object.defineProperty(broken, 'path', {
      get: () => {
        throw new ServiceError('DATA_CORRUPTED');
      },
    });
    const condition = compileCondition("node.path == '/a'");
    expect(() => condition.holds(bob, broken)).toThrow(ServiceError);
    expect(() => condition.explain(bob, broken)).toThrow(ServiceError);
    expect(() => condition.bind(bob).holds(broken)).toThrow(ServiceError);
    const failing = {
      related: () => {
        throw new ServiceError('DATA_CORRUPTED');
      },
    };
    expect(() => compileCondition("'a' RELATES 'b' VIA 'X'").holds(bob, bed, failing)).toThrow(ServiceError);
  });

  it('name the parts that always fail', () => {
    const { faults, error } = compileCondition('node.open ||\n  node.title.lenght() > auth.nam');
    expect(error).toBeUndefined();
    expect(faults).toEqual([
      {
        kind: 'evaluation',
        message: 'Unknown method: lenght; did you mean length?',
        line: 2,
        column: 14,
      },
    ]);
    expect(compileCondition('node.open || node.area > 1').faults).toEqual([]);
  });

  it('are frozen', () => {
    const condition = compileCondition("node.id == 'a'");
    const bound = condition.bind(bob);
    for (const part of [
      condition,
      condition.needs,
      condition.needs.columns,
      condition.needs.properties,
      condition.faults,
      bound,
      bound.needs,
      bound.narrowing,
      bound.narrowing.values,
      bound.narrowing.values.id,
      compileCondition('1 <'),
      compileCondition('1 <').error,
    ])
      expect(Object.isFrozen(part)).toBe(true);
    expect(condition.text).toBe("node.id == 'a'");
    expect(bound.text).toBe("node.id == 'a'");
  });

  it('keep the values that a caller had when it was bound', () => {
    const roles = ['editor'];
    const caller = { ...bob, roles, email: 'a' };
    const named = compileCondition('auth.roles.contains(node.title)').bind(caller);
    const computed = compileCondition("auth['em' + node.missing.join() + node.rest] == 'a'").bind(caller);
    expect(computed.decided).toBeUndefined();
    roles.push('North bed');
    caller.email = 'b';
    expect(named.holds(bed)).toBe(false);
    const rest = nodeOf({ properties: { rest: 'ail', missing: [] } });
    expect(computed.holds(rest)).toBe(true);
  });

  it('report only the first of many parts that always fail', () => {
    const { faults } = compileCondition(
      Array.from({ length: 100 }, () => '(node.a && node.b.foo())').join(' || '),
    );
    expect(faults).toHaveLength(FAULTS_MAX);
  });
});
