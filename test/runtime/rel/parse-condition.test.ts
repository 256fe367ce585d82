import { describe, expect, it } from 'vitest';
import { compileCondition } from '#runtime/rel/condition.ts';
import {
  LEVELS_MAX,
  NESTING_MAX,
  parseCondition,
  RELATES_DEPTH_MAX,
} from '#runtime/rel/syntax/parse-condition.ts';
import { CONDITION_LENGTH_MAX, TOKENS_MAX } from '#runtime/rel/syntax/tokens.ts';
import { bob, nodeOf } from './condition-world.ts';

/** The error of a text as `line:column message`; undefined when it is a condition. */
function errorOf(text: string): string | undefined {
  const { error } = compileCondition(text);
  return error && `${error.line}:${error.column} ${error.message}`;
}

describe('errors of the syntax', () => {
  it.each([
    ['', '1:1 Expected a value, found the end'],
    ['   ', '1:4 Expected a value, found the end'],
    ['1 +', '1:4 Expected a value, found the end'],
    ['node.', '1:6 Expected the name of a property or a method, found the end'],
    ["node.'a'", "1:6 Expected the name of a property or a method, found the string 'a'"],
    ['node.5', "1:6 Expected the name of a property or a method, found '5'"],
    ['(1', "1:3 Expected ')', found the end"],
    ['(1]', "1:3 Expected ')', found ']'"],
    ['1)', "1:2 Expected an operator or the end of the condition, found ')'"],
    ['node.tags[0', "1:12 Expected ']', found the end"],
    ['node.tags[]', "1:11 Expected a value, found ']'"],
    ['node.name.contains(', '1:20 Expected a value, found the end'],
    ["node.name.contains('a',)", "1:24 Expected a value, found ')'"],
    ["node.name.contains('a' 'b')", "1:24 Expected ')', found the string 'b'"],
    ['a b', "1:3 Expected an operator or the end of the condition, found 'b'"],
    ["'a' 'b'", "1:5 Expected an operator or the end of the condition, found the string 'b'"],
    ['true and false', "1:6 Expected an operator or the end of the condition, found 'and'; write '&&'"],
    ['true OR false', "1:6 Expected an operator or the end of the condition, found 'OR'; write '||'"],
    [
      "node.a in ['a']",
      "1:8 Expected an operator or the end of the condition, found 'in'; write '[…].contains(…)'",
    ],
    [
      "'a' relates 'b'",
      "1:5 Expected an operator or the end of the condition, found 'relates'; write RELATES",
    ],
    ['node.a = 1', "1:8 Unexpected '='; write '==' to compare"],
    ['a & b', "1:3 Unexpected '&'; write '&&'"],
    ['a | b', "1:3 Unexpected '|'; write '||'"],
    ['a === b', "1:5 Unexpected '='; write '==' to compare"],
    ['a <> b', "1:4 Expected a value, found '>'"],
    ['a && || b', "1:6 Expected a value, found '||'"],
    ['node?.a', "1:5 Unexpected '?'"],
    ['`a`', "1:1 Unexpected '`'"],
    ['a; b', "1:2 Unexpected ';'"],
    ['1 // x', "1:4 Expected a value, found '/'"],
    ['größe', "1:3 Unexpected 'ö'"],
    ['1 +\u{1f600}', "1:4 Unexpected '\u{1f600}'"],
    ['1\u00a0+ 1', '1:2 Unexpected character U+00A0'],
    ['\ufeff1', '1:1 Unexpected character U+FEFF'],
    ['\u202e1', '1:1 Unexpected character U+202E'],
    ['\u0000', '1:1 Unexpected character U+0000'],
    ['\ud800', '1:1 Unexpected character U+D800'],
    ["'abc", "1:1 The string that begins here has no closing '"],
    ['1 + "abc\'', '1:5 The string that begins here has no closing "'],
    ["'abc\\", '1:5 Expected one of n r t \\ \' " after the backslash'],
    ["'\\u0041'", '1:2 Expected one of n r t \\ \' " after the backslash'],
    ["'ab\\'", "1:1 The string that begins here has no closing '"],
    ['1.5.2', "1:5 Expected the name of a property or a method, found '2'"],
    ['.5', "1:1 Expected a value, found '.'"],
    ['1..2', "1:2 Expected an operator or the end of the condition, found '..'"],
    ['5px', '1:2 A letter follows the number'],
    ['0x10', '1:2 A letter follows the number'],
    ['1_000', '1:2 A letter follows the number'],
    ['1e', '1:1 The exponent of the number has no digits'],
    ['1e+', '1:1 The exponent of the number has no digits'],
    ['007', '1:1 A number does not begin with further zeros'],
    ['9223372036854775808', '1:1 The integer is beyond 64 bits'],
    ['-9223372036854775809', '1:1 The integer is beyond 64 bits'],
    ['-9223372036854775808.x', '1:2 The integer is beyond 64 bits'],
    ['[-9223372036854775809]', '1:3 The integer is beyond 64 bits'],
    ['-(9223372036854775808)', '1:3 The integer is beyond 64 bits'],
    ['1e400', '1:1 No float has exactly this value'],
    ['9007199254740993.0', '1:1 No float has exactly this value'],
    ['0.1000000000000000000000001', '1:1 No float has exactly this value'],
    ['[node.a]', "1:2 Expected a literal, found 'node'"],
    ['[1 + 1]', "1:4 Expected ']', found '+'"],
    ['[1,]', "1:4 Expected a literal, found ']'"],
    ["[-'a']", "1:3 Expected a number, found the string 'a'"],
    ['[--1]', "1:3 Expected a number, found '-'"],
    ['{a}', "1:3 Expected ':', found '}'"],
    ['{5: 1}', "1:2 Expected a key, found '5'"],
    ['{a: 1,}', "1:7 Expected a key, found '}'"],
    ["{a: 1, 'a': 2}", '1:8 The object has this key twice'],
    ['{true: 1}', "1:2 'true' is a reserved word; a key of this name is written as a string"],
    ['contains', "1:1 'contains' is a reserved word; a key of this name is written as a string"],
    ['node.contains', "1:6 'contains' is a reserved word; a key of this name is written as a string"],
    ['node.DEPTH', "1:6 'DEPTH' is a reserved word; a key of this name is written as a string"],
    ['node.VIA()', "1:6 'VIA' is a reserved word; a key of this name is written as a string"],
    ['node.null', "1:6 'null' is a reserved word; a key of this name is written as a string"],
    ['length(node.a)', "1:1 'length' is not a function; methods follow a value and a dot"],
    ['node.a()()', "1:9 Expected an operator or the end of the condition, found '('"],
    ['a < b < c', "1:7 Comparisons do not chain; join two of them with '&&'"],
    ['a == b != c', "1:8 Comparisons do not chain; join two of them with '&&'"],
    ["a RELATES b VIA 'X' == true", "1:21 Comparisons do not chain; join two of them with '&&'"],
    ["a == b RELATES c VIA 'X'", "1:8 Comparisons do not chain; join two of them with '&&'"],
    ['a RELATES b', '1:12 Expected VIA, found the end'],
    ["a RELATES b via 'X'", "1:13 Expected VIA, found 'via'; write VIA"],
    ['a RELATES b VIA', '1:16 Expected the name of a relation type as a string, found the end'],
    ['a RELATES b VIA X', "1:17 Expected the name of a relation type as a string, found 'X'"],
    ["a RELATES b VIA ''", "1:17 Expected the name of a relation type as a string, found the string ''"],
    ['a RELATES b VIA []', "1:18 Expected the name of a relation type as a string, found ']'"],
    ["a RELATES b VIA ['X',]", "1:22 Expected the name of a relation type as a string, found ']'"],
    ["a RELATES b VIA 'X' DEPTH", '1:26 Expected a depth from 1 to 10, found the end'],
    ["a RELATES b VIA 'X' DEPTH 0", "1:27 Expected a depth from 1 to 10, found '0'"],
    ["a RELATES b VIA 'X' DEPTH 1.5", "1:27 Expected a depth from 1 to 10, found '1.5'"],
    ["a RELATES b VIA 'X' DEPTH -1", "1:27 Expected a depth from 1 to 10, found '-'"],
    ["a RELATES b VIA 'X' DEPTH 11", "1:27 Expected a depth from 1 to 10, found '11'"],
    ["a RELATES b VIA 'X' DEPTH 9999999999", "1:27 Expected a depth from 1 to 10, found '9999999999'"],
    ["a RELATES b VIA 'X' DEPTH 3..2", '1:27 The smaller depth comes first'],
    ["a RELATES b VIA 'X' DEPTH 1..", '1:30 Expected a depth from 1 to 10, found the end'],
    ["a RELATES b VIA 'X' DIRECTION", '1:30 Expected OUTGOING, INCOMING or ANY, found the end'],
    ["a RELATES b VIA 'X' DIRECTION any", "1:31 Expected OUTGOING, INCOMING or ANY, found 'any'"],
    [
      "a RELATES b VIA 'X' DIRECTION ANY DEPTH 2",
      "1:35 Expected an operator or the end of the condition, found 'DEPTH'",
    ],
  ])('%j: %s', (text, error) => {
    expect(errorOf(text)).toBe(error);
  });

  it('count lines, and columns in characters', () => {
    expect(errorOf("node.a == 'x' &&\n  node.b == = 1")).toBe("2:13 Unexpected '='; write '==' to compare");
    expect(errorOf("'\u{1f600}\u{1f600}' = 1")).toBe("1:6 Unexpected '='; write '==' to compare");
    expect(errorOf("'a\nb' ==\r\n\t")).toBe('3:2 Expected a value, found the end');
  });

  it('quote only the start of what is long', () => {
    const { error } = compileCondition(`true '${'x'.repeat(10_000)}'`);
    expect(error?.message).toBe(
      `Expected an operator or the end of the condition, found the string '${'x'.repeat(40)}…'`,
    );
  });
});

describe('bounds of the syntax', () => {
  it('of the length', () => {
    const text = (length: number): string => `'${'x'.repeat(length - 2)}'`;
    expect(errorOf(text(CONDITION_LENGTH_MAX))).toBeUndefined();
    expect(errorOf(text(CONDITION_LENGTH_MAX + 1))).toBe(
      `1:${CONDITION_LENGTH_MAX + 1} The condition is longer than ${CONDITION_LENGTH_MAX} characters`,
    );
    expect(errorOf('x'.repeat(50_000_000))).toContain('longer');
  });

  it('of the number of tokens', () => {
    const text = (tokens: number): string => `[${'0,'.repeat((tokens - 3) / 2)}0]`;
    expect(errorOf(text(TOKENS_MAX - 1))).toBeUndefined();
    expect(errorOf(text(TOKENS_MAX + 1))).toBe(
      `1:${TOKENS_MAX + 1} The condition has more than ${TOKENS_MAX} words and signs`,
    );
  });

  const nestings: readonly (readonly [string, (depth: number) => string])[] = [
    ['parentheses', (depth) => `${'('.repeat(depth)}1${')'.repeat(depth)}`],
    ['negations', (depth) => `${'!'.repeat(depth)}1`],
    ['minus signs', (depth) => `${'- '.repeat(depth)}node.a`],
    ['lists', (depth) => `${'['.repeat(depth)}1${']'.repeat(depth)}`],
    ['objects', (depth) => `${'{a:'.repeat(depth)}1${'}'.repeat(depth)}`],
    ['indexes', (depth) => `${'node['.repeat(depth)}1${']'.repeat(depth)}`],
    ['arguments', (depth) => `${"'a'.contains(".repeat(depth)}'a'${')'.repeat(depth)}`],
  ];
  it.each(nestings)('of nested %s', (_, text) => {
    expect(errorOf(text(NESTING_MAX))).toBeUndefined();
    expect(errorOf(text(NESTING_MAX + 1))).toContain(`nests deeper than ${NESTING_MAX} levels`);
    expect(errorOf(text(2_000))).toBeDefined();
    compileCondition(text(NESTING_MAX)).explain(bob, nodeOf());
  });

  const chains: readonly (readonly [string, (links: number) => string, string])[] = [
    ['sums', (links) => `1${' + 1'.repeat(links)}`, `${LEVELS_MAX}`],
    ['products', (links) => `1${' * 1'.repeat(links)}`, '1'],
    ['members', (links) => `{}${'.a'.repeat(links)}`, 'null'],
    ['calls', (links) => `'a'${'.trim()'.repeat(links)}`, "'a'"],
  ];
  it.each(chains)('of chains of %s', (_, text, value) => {
    const longest = compileCondition(text(LEVELS_MAX - 1));
    expect(longest.explain(bob, nodeOf()).value).toBe(value);
    expect(errorOf(text(LEVELS_MAX))).toContain(`a chain of more than ${LEVELS_MAX} operators`);
  });

  it('not of the number of alternatives', () => {
    const text = Array.from({ length: 300 }, (_, index) => `node.a == ${index}`).join(' || ');
    expect(errorOf(text)).toBeUndefined();
    expect(compileCondition(text).holds(bob, nodeOf({ properties: { a: 299 } }))).toBe(true);
  });

  it(`of the depth of relations: ${RELATES_DEPTH_MAX}`, () => {
    expect(errorOf(`'a' RELATES 'b' VIA 'X' DEPTH ${RELATES_DEPTH_MAX}`)).toBeUndefined();
  });
});

describe('the syntax tree', () => {
  it('has places of operators and operands', () => {
    const parsed = parseCondition("node.a == 'x'");
    expect(parsed).toEqual({
      expression: {
        kind: 'comparison',
        operator: '==',
        left: { kind: 'member', of: { kind: 'root', name: 'node', at: 0 }, name: 'a', at: 5 },
        right: { kind: 'literal', value: 'x', at: 10 },
        at: 7,
      },
    });
  });

  it('reads `DEPTH n` as `1..n`, and one relation in any direction by default', () => {
    const relates = (text: string): unknown => parseCondition(text);
    expect(relates("a RELATES b VIA 'X' DEPTH 2")).toMatchObject({
      expression: { types: ['X'], depthMin: 1, depthMax: 2, direction: 'ANY' },
    });
    expect(relates("a RELATES b VIA ['X', 'Y'] DEPTH 2..3 DIRECTION INCOMING")).toMatchObject({
      expression: { types: ['X', 'Y'], depthMin: 2, depthMax: 3, direction: 'INCOMING' },
    });
    expect(relates("a RELATES b VIA 'X'")).toMatchObject({
      expression: { depthMin: 1, depthMax: 1, direction: 'ANY' },
    });
  });
});
