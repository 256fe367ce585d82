import type { ChangeKind } from '#runtime/tree/revision-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';

/** What a change of a node must tell, by two states of the node as plain values. */
export interface PlainChange {
  readonly kinds: readonly ChangeKind[];
  readonly pathBefore?: string;
  readonly typeBefore?: string;
  readonly properties?: readonly string[];
  readonly locales?: readonly string[];
}

/** A node as plain values, which say nothing about how it is stored. */
interface Plain {
  readonly path: string;
  readonly parentId: string;
  readonly order: string;
  readonly type: string;
  /** Archetype and owner. */
  readonly more: string;
  readonly isPublished: boolean;
  readonly version: number;
  readonly relations: ReadonlySet<string>;
  readonly locales: ReadonlyMap<string, string>;
  readonly properties: ReadonlyMap<string, string>;
}

/**
 * Leaves out the time of a translation, which is no difference of content: the same words that are translated again in
 * the next millisecond change nothing but this time.
 */
const withoutTime = (key: string, value: unknown): unknown => (key === 'translated_at' ? undefined : value);

function plain(record: NodeRecord): Plain {
  const { header } = record;
  const texts = (object: object | null): Map<string, string> =>
    new Map(Object.entries(object ?? {}).map(([key, value]) => [key, JSON.stringify(value, withoutTime)]));
  return {
    path: header.path,
    parentId: header.parentId,
    order: header.orderKey,
    type: header.nodeType,
    more: JSON.stringify([header.archetype, header.ownerId]),
    isPublished: header.publishedAt !== null,
    version: header.version,
    relations: new Set(header.relations.map((relation) => JSON.stringify(Object.entries(relation).sort()))),
    locales: texts(header.translations),
    properties: texts(record.properties),
  };
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/'));
const lacks = (all: ReadonlySet<string>, some: ReadonlySet<string>): boolean =>
  [...some].some((one) => !all.has(one));

/** Keys whose values differ, or that only one of two maps has. */
function differing(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).sort();
}

/** What a change between two states must tell; undefined where they do not differ. */
export function plainChange(
  old: NodeRecord | undefined,
  next: NodeRecord | undefined,
): PlainChange | undefined {
  if (old === undefined || next === undefined) {
    const there = old ?? next;
    if (there === undefined) return undefined;
    const { isPublished, locales, relations } = plain(there);
    const [made, shown, related] =
      old === undefined
        ? (['created', 'published', 'relation_added'] as const)
        : (['deleted', 'unpublished', 'relation_removed'] as const);
    const kinds: ChangeKind[] = [made];
    if (isPublished) kinds.push(shown);
    if (relations.size > 0) kinds.push(related);
    return { kinds, ...(locales.size === 0 ? {} : { locales: [...locales.keys()].sort() }) };
  }
  const [before, after] = [plain(old), plain(next)];
  const kinds = new Set<ChangeKind>();
  const properties = differing(before.properties, after.properties);
  const locales = differing(before.locales, after.locales);
  if (properties.length > 0) kinds.add('property_changed').add('updated');
  if (locales.length > 0 || before.type !== after.type || before.more !== after.more) kinds.add('updated');
  if (before.isPublished !== after.isPublished) kinds.add(after.isPublished ? 'published' : 'unpublished');
  if (nameOf(before.path) !== nameOf(after.path)) kinds.add('renamed');
  const isElsewhere = before.parentId !== after.parentId;
  if (isElsewhere || folderOf(before.path) !== folderOf(after.path)) kinds.add('moved');
  if (!isElsewhere && before.order !== after.order) kinds.add('reordered');
  if (lacks(before.relations, after.relations)) kinds.add('relation_added');
  if (lacks(after.relations, before.relations)) kinds.add('relation_removed');
  if (kinds.size === 0 && before.version === after.version) return undefined;
  return {
    kinds: kinds.size === 0 ? ['updated'] : [...kinds],
    ...(before.path === after.path ? {} : { pathBefore: before.path }),
    ...(before.type === after.type ? {} : { typeBefore: before.type }),
    ...(properties.length === 0 ? {} : { properties }),
    ...(locales.length === 0 ? {} : { locales }),
  };
}
