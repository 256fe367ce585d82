import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { jsonEquals, ownValue } from '#runtime/content/values/json-value.ts';
import { parentName } from '#runtime/content/path.ts';
import { overlayOf, shownOrigins, shownOverlay } from '#runtime/content/translations/translation.ts';
import { formatPointer } from '#runtime/content/translations/translation-pointer.ts';
import { type ValueChange, ValueComparison } from '#runtime/content/values/value-changes.ts';
import { type DefinitionNetChange, definedBy, type NetChange } from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';

/** Changes in the order they are found; undefined where the work may pause. */
export type Changes = Generator<ValueChange | undefined, void>;

/** Whether the caller may see the target of a relation. Yields where the work may pause. */
export type SeesTarget = (relation: Relation) => Generator<undefined, boolean>;

type State = NodeRecord | undefined;

const nothing: JsonObject = Object.freeze({});

/** The fields of a node object that are compared as a whole, in their order in the object. */
const columns: readonly (readonly [name: string, of: (header: NodeHeader) => string | null])[] = [
  ['name', ({ name }) => name],
  ['path', ({ path }) => path],
  ['node_type', ({ nodeType }) => nodeType],
  ['archetype', ({ archetype }) => archetype],
  ['order_key', ({ orderKey }) => orderKey],
  ['owner_id', ({ ownerId }) => ownerId],
];

/**
 * The differences of a node, as paths in the node object that reads return. For an added or deleted node, each field
 * and each property has only one value. Fields that every write sets are omitted: version, author and time, and the
 * publication time and author of a node that stays published.
 *
 * @param sees relations to other nodes are omitted
 * @see docs/interface/branches.md#changed-properties
 */
export function* nodeChanges(change: NetChange, sees: SeesTarget): Changes {
  const { after, before } = change;
  yield* columnChanges(before?.header, after?.header);
  yield* propertyChanges(before, after);
  for (const locale of change.locales) yield* localeChanges(locale, before, after);
  yield* relationChanges(before?.header.relations ?? [], after?.header.relations ?? [], sees);
}

/** The differences of a schema definition, as paths in the definition. Items of its lists are identified by name. */
export function* definitionChanges({ after, before }: DefinitionNetChange): Changes {
  const [from, to] = [before, after].map((state) => {
    const { is_published: _, ...shown } = state === undefined ? nothing : definedBy(state);
    return shown;
  });
  yield* new ValueComparison('name').changes('', from, to);
  const [published, next] = [before, after].map((state) => state && (state.definition.published_at ?? null));
  if (isPublished(published) !== isPublished(next)) yield columnChange('published_at', published, next);
}

function isPublished(publishedAt: string | null | undefined): boolean {
  return (publishedAt ?? null) !== null;
}

function columnChange(
  name: string,
  before: string | null | undefined,
  after: string | null | undefined,
): ValueChange {
  return { path: `/${name}`, before, after };
}

function* columnChanges(before: NodeHeader | undefined, after: NodeHeader | undefined): Changes {
  for (const [name, of] of columns) {
    const [one, other] = [before && of(before), after && of(after)];
    // For a new node, a null field is no change.
    if ((one ?? null) !== (other ?? null)) yield columnChange(name, one, other);
  }
  const [from, to] = [before && parentName(before.path), after && parentName(after.path)];
  // Another node of the same name may have replaced the parent.
  if (from !== to || before?.parentId !== after?.parentId) yield columnChange('parent', from, to);
  if (isPublished(before?.publishedAt) === isPublished(after?.publishedAt)) return;
  yield columnChange('published_at', before?.publishedAt, after?.publishedAt);
  yield columnChange('published_by', before?.publishedBy, after?.publishedBy);
}

function* propertyChanges(before: State, after: State): Changes {
  if (before !== undefined && after?.hasSamePropertyText(before) === true) return;
  const one = before === undefined ? nothing : yield* before.decode();
  const other = after === undefined ? nothing : yield* after.decode();
  yield* new ValueComparison('uuid').changes('/properties', one, other);
}

function* localeChanges(locale: string, before: State, after: State): Changes {
  const [one, other] = [before, after].map((state) => overlayOf(state?.header.translations ?? null, locale));
  const [from, to] = [one, other].map((overlay) =>
    overlay === undefined ? nothing : shownOverlay(overlay),
  ) as [JsonObject, JsonObject];
  const place = `/translations${formatPointer([locale])}`;
  let found = 0;
  for (const change of new ValueComparison('uuid').changes(place, from, to)) {
    if (change !== undefined) found += 1;
    yield change;
  }
  if (one === undefined || other === undefined) return;
  // The values are equal, but the original differs or the translation is hidden.
  const [origins, nextOrigins] = [shownOrigins(one), shownOrigins(other)];
  for (const key of Object.keys(to)) {
    const [value, next] = [ownValue(from, key), ownValue(to, key) as JsonValue];
    if (value === undefined || !jsonEquals(value, next)) continue;
    const isTranslatedAnew = ownValue(origins, key) !== ownValue(nextOrigins, key);
    if (isTranslatedAnew || (found === 0 && one.type === 'hidden'))
      yield { path: place + formatPointer([key]), before: value, after: next };
  }
}

/** The order of relations is irrelevant. Each relation is a separate change, at the path of the list. */
function* relationChanges(
  before: readonly Relation[],
  after: readonly Relation[],
  sees: SeesTarget,
): Changes {
  const rest = new Map(after.map((relation) => [edgeOf(relation), relation]));
  for (const relation of before) {
    const edge = edgeOf(relation);
    const next = rest.get(edge);
    rest.delete(edge);
    if (next !== undefined && jsonEquals({ ...relation }, { ...next })) continue;
    if (yield* sees(relation))
      yield { path: '/relations', before: { ...relation }, after: next && { ...next } };
  }
  for (const relation of rest.values())
    if (yield* sees(relation)) yield { path: '/relations', before: undefined, after: { ...relation } };
}

/** The identity of a relation: a node has one for each target and type. */
function edgeOf({ relation_type, target, workspace }: Relation): string {
  return JSON.stringify([workspace, target, relation_type]);
}
