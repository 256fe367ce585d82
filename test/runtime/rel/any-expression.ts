import fc from 'fast-check';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { Caller, RelationDirection } from '#runtime/rel/ports.ts';
import type { Expression } from '#runtime/rel/syntax/expression.ts';
import { type RelValue, WholeFloat } from '#runtime/rel/values/rel-value.ts';
import { bob, type Edge, nobody, type NodeFields } from './condition-world.ts';
import { methodNames } from './reference-evaluator.ts';

const ids = ['b1', 'u1', 'u2', 'u3', 'i1', 'i2'] as const;
const paths = ['/', '/a', '/a/b', '/a/b/c', '/a/d', '/ab', '/users/bob', '/users/bob-2/x'] as const;
const types = ['KNOWS', 'TENDS'] as const;
const propertyNames = [
  'p',
  'q',
  'r',
  'id',
  'path',
  'created_by',
  '__proto__',
  'constructor',
  'toString',
] as const;
const columnNames = [
  'id',
  'name',
  'path',
  'node_type',
  'created_by',
  'updated_by',
  'owner_id',
  'workspace',
] as const;
const authNames = [
  'user_id',
  'local_user_id',
  'email',
  'home',
  'roles',
  'groups',
  'is_anonymous',
  'is_system',
  'acting_as_ward',
  'active_stewardship_source',
] as const;

const words = fc.constantFrom('', 'a', 'ab', 'b', 'ä\u{1f600}', "'\\\n", ' x ', '\ud800', 'p', 'created_by');
const shortText = fc.oneof(
  { weight: 4, arbitrary: words },
  { weight: 3, arbitrary: fc.constantFrom(...paths, '/a/', 'a/b', '/a//b') },
  { weight: 2, arbitrary: fc.constantFrom(...ids) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
);
/** Numbers around the bounds of doubles and of 64 bits, in the form of stored values. */
const edgeNumbers: readonly (number | bigint)[] = [
  9007199254740991,
  9007199254740992,
  9007199254740993n,
  -9007199254740993n,
  4611686018427387904n,
  4611686018427388000,
  3037000500,
  9223372036854775807n,
  -9223372036854775808n,
];
const integer = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -3, max: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom(...edgeNumbers) },
);
const positiveFloat: fc.Arbitrary<RelValue> = fc
  .oneof(
    fc.constantFrom(0, 0.5, 1, 2, 2.5, 1e18, 4611686018427388000, 1e300, 5e-324, 9007199254740992),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e6 }),
  )
  .map((value) => (Number.isInteger(value) ? new WholeFloat(value) : value));
const anyFloat = fc.tuple(fc.boolean(), positiveFloat).map(([isNegative, value]): RelValue => {
  if (!isNegative) return value;
  return value instanceof WholeFloat ? new WholeFloat(-value.number) : -(value as number);
});

const key = fc.constantFrom('a', 'b', '__proto__', 'constructor');
const literals = fc.letrec<{ item: RelValue; list: RelValue; object: RelValue }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<RelValue>(null, true, false),
    integer,
    anyFloat,
    shortText,
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('item'), { maxLength: 3 }),
  object: fc
    .uniqueArray(fc.tuple(key, tie('item')), { maxLength: 3, selector: ([name]) => name })
    .map((entries) => Object.fromEntries(entries)),
}));

/** A stored value, those with a meaning of their own included. */
const stored: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<JsonValue>(null, true, false),
    integer,
    fc.constantFrom<JsonValue>(
      0.5,
      1e19,
      1e300,
      -2.5,
      10000000000000000001n,
      123456789012345678901234567890n,
    ),
    shortText,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
    fc.constantFrom<JsonValue>(
      { 'svc:ref': 'u1' },
      { 'svc:ref': '' },
      { 'svc:url': 'https://example.com' },
      { uuid: 'f1', mime_type: 'text/plain' },
      { uuid: 'f1', items: [{ element_type: 'x:T' }] },
      { element_type: 'x:T', a: 1 },
      { type: 'Point', coordinates: [1, 2] },
      { type: 'GeometryCollection', geometries: [] },
      { type: 'Point', a: 1 },
    ),
  ),
})).value;

/** A node whose columns and properties often have the values that conditions name. */
export const anyNode: fc.Arbitrary<NodeFields> = fc.record({
  id: fc.constantFrom(...ids),
  name: words,
  path: fc.constantFrom(...paths),
  nodeType: fc.constantFrom('a', 'b'),
  createdBy: fc.constantFrom(...ids),
  updatedBy: fc.constantFrom(...ids, null),
  ownerId: fc.constantFrom(...ids, null),
  workspace: fc.constantFrom('a', 'garden'),
  properties: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...propertyNames), stored), { selector: ([name]) => name })
    .map((entries): JsonObject => Object.fromEntries(entries)),
});

/** A caller with few different values. */
export const anyCaller: fc.Arbitrary<Caller> = fc.oneof(
  fc.constant(nobody),
  fc.record({
    userId: fc.constantFrom('i1', 'i2'),
    localUserId: fc.constantFrom('u1', 'u2', null),
    email: fc.constant('bob@example.com'),
    home: fc.constantFrom('/users/bob', '/a', '/', '', null),
    roles: fc.subarray([...bob.roles, 'b1']),
    groups: fc.subarray(['a', ...ids]),
    isAnonymous: fc.constant(false),
    isSystem: fc.boolean(),
    actingAsWard: fc.constantFrom('u2', null),
    activeStewardshipSource: fc.constant(null),
  }),
);

/** A graph of few relations. */
export const anyEdges: fc.Arbitrary<readonly Edge[]> = fc.array(
  fc.tuple(fc.constantFrom(...ids), fc.constantFrom(...types), fc.constantFrom(...ids)),
  { maxLength: 6 },
);

const at = 0;
const member = (of: Expression, name: string): Expression => ({ kind: 'member', of, name, at });
const root = (name: string): Expression => ({ kind: 'root', name, at });
const literal = (value: RelValue): Expression => ({ kind: 'literal', value, at });
const call = (of: Expression, method: string, ...given: readonly Expression[]): Expression => ({
  kind: 'call',
  of,
  method,
  arguments: given,
  at,
});

const column = fc.constantFrom(...columnNames).map((name) => member(root('node'), name));
const property = fc.constantFrom(...propertyNames).map((name) => member(root('node'), name));
const authValue = fc.constantFrom(...authNames).map((name) => member(root('auth'), name));
const path = fc.oneof(
  fc.constant(member(root('node'), 'path')),
  fc.constant(member(root('auth'), 'home')),
  fc.constantFrom(...paths).map(literal),
);

type Kinds = {
  readonly some: Expression;
  readonly test: Expression;
  readonly number: Expression;
  readonly text: Expression;
  readonly list: Expression;
};

/** Mostly operands of the kind that an operator takes: otherwise nearly every condition would be an error. */
const kinds = fc.letrec<Kinds>((tie) => {
  const some = tie('some');
  const test = tie('test');
  const number = tie('number');
  const text = tie('text');
  const list = tie('list');
  const junction = (items: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> =>
    fc
      .tuple(fc.constantFrom('all' as const, 'any' as const), fc.array(items, { minLength: 2, maxLength: 4 }))
      .map(([kind, of]) => ({ kind, items: of, at }));
  const comparison = (operand: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> =>
    fc
      .tuple(fc.constantFrom('==', '!=', '<', '>', '<=', '>='), operand, operand)
      .map(([operator, left, right]) => ({ kind: 'comparison', operator, left, right, at }) as Expression);
  const arithmetic = (
    operators: readonly ('+' | '-' | '*' | '/' | '%')[],
    operand: fc.Arbitrary<Expression>,
  ): fc.Arbitrary<Expression> =>
    fc
      .tuple(fc.constantFrom(...operators), operand, operand)
      .map(([operator, left, right]): Expression => ({ kind: 'arithmetic', operator, left, right, at }));
  const method = (
    of: fc.Arbitrary<Expression>,
    names: readonly string[],
    ...given: readonly fc.Arbitrary<Expression>[]
  ): fc.Arbitrary<Expression> =>
    fc
      .tuple(of, fc.constantFrom(...names), fc.tuple(...given))
      .map(([receiver, name, args]) => call(receiver, name, ...(args as Expression[])));
  const relates = fc
    .tuple(
      fc.oneof(column, authValue, fc.constantFrom(...ids).map(literal)),
      fc.oneof(column, authValue, fc.constantFrom(...ids).map(literal)),
      fc.subarray([...types], { minLength: 1 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 2 }),
      fc.constantFrom<RelationDirection>('OUTGOING', 'INCOMING', 'ANY'),
    )
    .map(
      ([from, to, via, depthMin, more, direction]): Expression => ({
        kind: 'relates',
        from,
        to,
        types: via,
        depthMin,
        depthMax: depthMin + more,
        direction,
        at,
      }),
    );
  return {
    some: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      literals.item.map(positive).map(literal),
      column,
      property,
      authValue,
      test,
      number,
      text,
      list,
      fc.constantFrom('node', 'auth', 'nope').map(root),
      fc.tuple(some, fc.constantFrom('a', 'p', '__proto__')).map(([of, name]) => member(of, name)),
      fc
        .tuple(fc.oneof(some, fc.constantFrom(root('node'), root('auth'))), some)
        .map(([of, index]): Expression => ({ kind: 'index', of, index, at })),
      method(some, [...methodNames, 'foo']),
      method(some, methodNames, some),
      method(some, ['substring', 'join', 'parent'], some, some),
    ),
    test: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.constantFrom(true, false).map(literal),
      comparison(number),
      comparison(
        fc
          .constantFrom<RelValue>(
            0,
            1,
            2,
            new WholeFloat(0),
            new WholeFloat(1),
            0.5,
            [1],
            [new WholeFloat(1)],
          )
          .map(literal),
      ),
      comparison(text),
      comparison(column),
      fc
        .tuple(fc.constantFrom('==', '!='), fc.oneof(column, some), some)
        .map(([operator, left, right]) => ({ kind: 'comparison', operator, left, right, at }) as Expression),
      fc
        .tuple(some, column)
        .map(([left, right]): Expression => ({ kind: 'comparison', operator: '==', left, right, at })),
      junction(test),
      junction(fc.oneof(test, some)),
      some.map((of): Expression => ({ kind: 'not', of, at })),
      relates,
      method(path, ['descendantOf', 'childOf', 'ancestorOf', 'startsWith'], path),
      method(fc.constant(member(root('node'), 'path')), ['startsWith'], shortText.map(literal)),
      method(text, ['contains', 'startsWith', 'endsWith'], text),
      method(list, ['contains'], fc.oneof(column, some)),
      method(list, ['isEmpty', 'isNotEmpty']),
    ),
    number: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.oneof(integer, positiveFloat).map(literal),
      arithmetic(['+', '-', '*', '/', '%'], number),
      number.map((of): Expression => ({ kind: 'negate', of, at })),
      property,
      method(path, ['depth', 'length']),
      method(list, ['indexOf'], some),
    ),
    text: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      shortText.map(literal),
      column,
      arithmetic(['+'], text),
      method(text, ['toLowerCase', 'toUpperCase', 'trim']),
      method(text, ['substring'], number),
      method(text, ['substring'], number, number),
      method(path, ['parent']),
      method(path, ['parent', 'ancestor'], number),
      method(list, ['join'], text),
    ),
    list: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      literals.list.map(literal),
      fc.constantFrom('roles', 'groups').map((name) => member(root('auth'), name)),
      property,
    ),
  };
});

/** Methods of constants, so that each method is seen with many values of the right kind. */
const literalCall = fc.oneof(
  fc
    .tuple(
      shortText,
      fc.constantFrom('length', 'isEmpty', 'isNotEmpty', 'toLowerCase', 'toUpperCase', 'trim'),
    )
    .map(([of, method]) => call(literal(of), method)),
  fc
    .tuple(shortText, fc.constantFrom('contains', 'startsWith', 'endsWith'), shortText)
    .map(([of, method, given]) => call(literal(of), method, literal(given))),
  fc
    .tuple(shortText, fc.array(integer, { minLength: 1, maxLength: 2 }))
    .map(([of, given]) => call(literal(of), 'substring', ...given.map(literal))),
  fc
    .tuple(fc.constantFrom(...paths), fc.constantFrom('parent', 'ancestor'), integer)
    .map(([of, method, given]) => call(literal(of), method, literal(given))),
  fc
    .tuple(
      fc.constantFrom(...paths),
      fc.constantFrom('childOf', 'descendantOf', 'ancestorOf'),
      fc.constantFrom(...paths),
    )
    .map(([of, method, given]) => call(literal(of), method, literal(given))),
  fc
    .tuple(literals.list, fc.constantFrom('length', 'isEmpty', 'first', 'last', 'join'))
    .map(([of, method]) => call(literal(of), method)),
  fc
    .tuple(literals.list, fc.constantFrom('contains', 'indexOf'), literals.item)
    .map(([of, method, given]) => call(literal(of), method, literal(positive(given)))),
);

/** In an operand a minus is an operator of its own, except before an integer. */
function positive(value: RelValue): RelValue {
  if (value instanceof WholeFloat) return new WholeFloat(Math.abs(value.number));
  return typeof value === 'number' && !Number.isInteger(value) ? Math.abs(value) : value;
}

/** A syntax tree that the parser can produce, most often of a condition without an error. */
export const anyExpression: fc.Arbitrary<Expression> = fc.oneof(
  { weight: 4, arbitrary: kinds.test },
  { weight: 2, arbitrary: kinds.some },
  { weight: 1, arbitrary: kinds.number },
  { weight: 1, arbitrary: kinds.text },
  { weight: 2, arbitrary: literalCall },
);

/** Conditions of the kind that restricts a scan: columns and paths, joined. */
export const anyRestriction: fc.Arbitrary<Expression> = fc.letrec<{ whole: Expression }>((tie) => {
  const nodePath = fc.constant(member(root('node'), 'path'));
  const constant = fc.oneof(
    authValue,
    fc.constantFrom(...ids, ...paths, 'a', '/a/', '/users/bo').map(literal),
  );
  const nodeId = fc.constantFrom('id', 'created_by', 'owner_id').map((name) => member(root('node'), name));
  const equal = fc.constantFrom('==' as const, '==' as const, '==' as const, '!=' as const);
  const equality = (sides: readonly [fc.Arbitrary<Expression>, fc.Arbitrary<Expression>]) =>
    fc
      .tuple(equal, ...sides)
      .map(([operator, left, right]): Expression => ({ kind: 'comparison', operator, left, right, at }));
  const pathLiteral = fc.constantFrom(...paths.slice(1)).map(literal);
  const restricting = fc.oneof(
    equality([nodePath, pathLiteral]),
    equality([nodeId, fc.constantFrom(...ids).map(literal)]),
    equality([constant, column]),
    fc.tuple(nodePath, pathLiteral).map(([of, top]) => call(of, 'descendantOf', top)),
    fc
      .tuple(
        nodePath,
        fc.constantFrom('descendantOf', 'childOf', 'startsWith', 'ancestorOf', 'endsWith'),
        constant,
      )
      .map(([of, method, given]) => call(of, method, given)),
    fc.tuple(constant, nodePath).map(([of, given]) => call(of, 'ancestorOf', given)),
    fc
      .tuple(
        fc.oneof(
          fc.array(fc.constantFrom<RelValue>(...ids, ...paths, null, 5), { maxLength: 3 }).map(literal),
          fc.constantFrom('roles', 'groups').map((name) => member(root('auth'), name)),
        ),
        column,
      )
      .map(([of, given]) => call(of, 'contains', given)),
    fc.tuple(column, constant).map(([of, given]) => call(of, 'contains', given)),
  );
  const other = fc.oneof(
    property,
    fc.constantFrom<RelValue>(true, false, null).map(literal),
    fc.constant(root('nope')),
  );
  return {
    whole: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 8, arbitrary: restricting },
      { weight: 1, arbitrary: other },
      {
        weight: 8,
        arbitrary: fc
          .tuple(
            fc.constantFrom('all' as const, 'any' as const),
            fc.array(tie('whole'), { minLength: 2, maxLength: 3 }),
          )
          .map(([kind, items]): Expression => ({ kind, items, at })),
      },
      { weight: 1, arbitrary: tie('whole').map((of): Expression => ({ kind: 'not', of, at })) },
    ),
  };
}).whole;

/** The paths of a small tree in which each node has two children. */
export const treePaths: readonly string[] = ['', '/a', '/b'].flatMap((top) =>
  ['', '/a', '/b'].flatMap((middle) => ['/a', '/b'].map((last) => `${top}${middle}${last}`)),
);

/** Conditions on paths of that tree, joined. */
export const anyPlace: fc.Arbitrary<Expression> = fc.letrec<{ place: Expression }>((tie) => {
  const nodePath = member(root('node'), 'path');
  const aPath = fc.constantFrom(...treePaths);
  return {
    place: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc
        .tuple(fc.constantFrom('descendantOf', 'childOf', 'startsWith'), aPath)
        .map(([method, top]) => call(nodePath, method, literal(method === 'startsWith' ? `${top}/` : top))),
      fc
        .array(aPath, { minLength: 1, maxLength: 6 })
        .map((list) => call(literal(list), 'contains', nodePath)),
      fc
        .tuple(
          fc.constantFrom('all' as const, 'any' as const),
          fc.array(tie('place'), { minLength: 2, maxLength: 4 }),
        )
        .map(([kind, items]): Expression => ({ kind, items, at })),
    ),
  };
}).place;
