import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addNode, type Numbers, PROPERTIES_LISTED_MAX } from '#runtime/statistics/node-numbers.ts';
import {
  decodeStatisticsRow,
  encodeNumbers,
  type StatisticsRow,
} from '#runtime/statistics/statistics-rows.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { countedNodes } from '#test/support/counted-nodes.ts';
import { plainHeader } from '#test/support/plain-header.ts';

/** The rows of nodes with some properties, and the numbers of their type. */
function rowsOf(...nodes: readonly JsonObject[]): { rows: StatisticsRow[]; notListed: number } {
  const numbers: Numbers = new Map();
  for (const properties of nodes) addNode(numbers, 'content', makeNodeRecord(plainHeader, properties), 1);
  const rows = [...numbers].map(([key, row]) => decodeStatisticsRow(key, encodeNumbers(row)));
  const notListed = rows.find(({ facet }) => facet === 'nodes')?.numbers.at(-1) as number;
  return { rows, notListed };
}

describe('the numbers of a node', () => {
  it('name each property with the kind of its value, whatever it is called', () => {
    const name = fc.string({ maxLength: 20, unit: 'binary' }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue(), { noNullPrototype: true }), (properties) => {
        const { notListed, rows } = rowsOf(properties as JsonObject);
        const shown = rows.filter(({ facet }) => facet === 'properties');
        const record = makeNodeRecord(plainHeader, properties as JsonObject);
        const [counted] = Object.values(countedNodes([record]));
        const kinds = ['string', 'number', 'boolean', 'object', 'array', 'null'];
        const found = shown.map(({ name, numbers }) => [name, { [kinds[numbers.indexOf(1)] as string]: 1 }]);
        expect(notListed).toBe(0);
        expect(Object.fromEntries(found)).toEqual(counted?.properties);
      }),
      { numRuns: 1_000 },
    );
  });

  it('name a property that has the name of a method of objects', () => {
    const properties = JSON.parse('{"valueOf":{},"__proto__":1,"constructor":"x"}') as JsonObject;
    const { rows } = rowsOf(properties);
    const names = rows.filter(({ facet }) => facet === 'properties').map(({ name }) => name);
    expect(names).toEqual(['valueOf', '__proto__', 'constructor']);
  });

  it('are nothing once the node is taken away', () => {
    const record = makeNodeRecord(plainHeader, { a: 1, b: null, c: [true] });
    const numbers: Numbers = new Map();
    addNode(numbers, 'content', record, 1);
    addNode(numbers, 'content', record, -1);
    expect([...numbers.values()].flat().every((number) => number === 0)).toBe(true);
  });

  it('list a thousand properties and names that fit into a key, and count the others', () => {
    const many = Object.fromEntries(
      Array.from({ length: PROPERTIES_LISTED_MAX + 7 }, (_, index) => [`p${index}`, index]),
    );
    const { notListed, rows } = rowsOf(many, { ['ä'.repeat(127)]: 1, ['ä'.repeat(128)]: 2, short: 3 });
    expect(notListed).toBe(8);
    const names = rows.filter(({ facet }) => facet === 'properties').map(({ name }) => name);
    expect(names).toHaveLength(PROPERTIES_LISTED_MAX + 2);
    expect(names).toContain('ä'.repeat(127));
  });
});
