import { jsonKinds, propertyKinds } from '#runtime/tree/record/property-kinds.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { type Facet, facetKey, isListed, nodesKey } from './statistics-rows.ts';

/** Properties of a node that are listed: those stored first. */
export const PROPERTIES_LISTED_MAX = 1_000;

/** Characters of a time that are its day. */
const DAY_LENGTH = '2000-01-01'.length;

/** Numbers by the keys of their rows. */
export type Numbers = Map<string, number[]>;

/**
 * Adds the numbers of a node to those of others. They follow from its state alone, wherever and in whatever format it is
 * stored, so what was added can be taken away later.
 *
 * @param sign -1 takes them away
 */
export function addNode(numbers: Numbers, workspace: string, record: NodeRecord, sign: 1 | -1): void {
  const { archetype, nodeType, publishedAt, updatedAt, version } = record;
  const stored = record.propertyBytes();
  let notListed = Math.max(stored.count - PROPERTIES_LISTED_MAX, 0);
  const add = (facet: Facet, name: string, at = 0, length = 1): void => {
    if (!isListed(name)) {
      notListed += 1;
      return;
    }
    const key = facetKey(workspace, nodeType, facet, name);
    addAt(numbers, key, at, length, sign);
  };
  add('days', updatedAt.slice(0, DAY_LENGTH));
  if (archetype !== null) add('archetypes', archetype);
  for (const [name, kind] of propertyKinds(stored, PROPERTIES_LISTED_MAX))
    add('properties', name, jsonKinds.indexOf(kind), jsonKinds.length);
  if (record.hasTranslations || record.hasRelations) {
    const { relations, translations } = record.header;
    for (const locale of Object.keys(translations ?? {})) add('locales', locale);
    for (const { relation_type: kind } of relations) add('relations', kind);
  }
  const own = [1, publishedAt === null ? 0 : 1, version, stored.text.length, notListed];
  const key = nodesKey(workspace, nodeType);
  for (const [index, number] of own.entries()) addAt(numbers, key, index, own.length, sign * number);
}

function addAt(numbers: Numbers, key: string, at: number, length: number, number: number): void {
  let row = numbers.get(key);
  if (row === undefined) {
    row = new Array<number>(length).fill(0);
    numbers.set(key, row);
  }
  (row[at] as number) += number;
}
