import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { joinPath } from '#runtime/content/path.ts';
import { overlayOf, withOverlay } from '#runtime/content/translations/translation.ts';
import { differingLocales, prepareComparison, sameNode } from '#runtime/tree/net-change.ts';
import { withHeaderInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodeAddress } from '../pair-messages.ts';

/** A node at some revision; undefined if it does not exist there. */
type State = NodeRecord | undefined;

/**
 * The state of a node that results from merging two merge bases. The node itself, each of its locales and its position
 * among its siblings are separate aspects, as in a merge. Each aspect is taken from the base that changed it since
 * their common ancestor, or from the newer base if both did.
 *
 * @param met the node in the common ancestor of the two bases
 * @returns the node, with the path of the base it was taken from, see {@link VirtualBasePaths}; yields where the work
 *   may pause, which it does only for large nodes
 */
export function* virtualBaseState(newer: State, other: State, met: State): Generator<undefined, State> {
  yield* prepareComparison([newer, other, met]);
  const kept = sameState(newer, met) ? other : newer;
  if (kept === undefined || newer === undefined || other === undefined) return kept;
  const { header } = kept;
  let { translations } = header;
  const changed = new Set(differingLocales(met, newer));
  for (const locale of differingLocales(newer, other)) {
    const overlay = overlayOf((changed.has(locale) ? newer : other).header.translations, locale);
    translations = withOverlay(translations, locale, overlay ?? null);
  }
  const placed = isPlacedAsIn(met, newer) ? other : newer;
  const orderKey = placed.header.parentId === header.parentId ? placed.header.orderKey : header.orderKey;
  if (orderKey === header.orderKey && sameTranslations(translations, header.translations)) return kept;
  return yield* withHeaderInSteps(kept, { ...header, translations, orderKey });
}

/** Whether two states are equal except for locales and position. */
function sameState(a: State, b: State): boolean {
  return a === undefined || b === undefined ? a === b : sameNode(a, b);
}

function isPlacedAsIn(met: State, state: NodeRecord): boolean {
  const { orderKey, parentId } = state.header;
  return met !== undefined && met.header.parentId === parentId && met.header.orderKey === orderKey;
}

function sameTranslations(a: JsonObject | null, b: JsonObject | null): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Corrects the paths of virtual nodes: if one base moved a folder and another one added a node to it, the node is below
 * the folder's new path. Every folder is looked up once.
 */
export class VirtualBasePaths {
  readonly #stateOf: (node: NodeAddress) => Generator<undefined, State>;
  readonly #paths = new Map<string, string | undefined>();

  /** @param stateOf the virtual node, whose path may be wrong */
  constructor(stateOf: (node: NodeAddress) => Generator<undefined, State>) {
    this.#stateOf = stateOf;
  }

  /**
   * The node with the path that follows from its ancestors; unchanged if these do not form a tree. Yields where the
   * work may pause.
   */
  *settled(workspace: string, record: NodeRecord): Generator<undefined, NodeRecord> {
    const { header } = record;
    const above = yield* this.#pathOf(workspace, header.parentId);
    if (above === undefined) return record;
    const path = joinPath(above, header.name);
    return path === header.path ? record : yield* withHeaderInSteps(record, { ...header, path });
  }

  /** Undefined for a node that does not exist, or is below a missing node or below itself. */
  *#pathOf(workspace: string, id: string): Generator<undefined, string | undefined> {
    if (id === ROOT_ID) return '/';
    const key = `${workspace}\0${id}`;
    if (this.#paths.has(key)) return this.#paths.get(key);
    // A node that is its own ancestor has no path.
    this.#paths.set(key, undefined);
    const header = (yield* this.#stateOf({ workspace, id }))?.header;
    const above = header === undefined ? undefined : yield* this.#pathOf(workspace, header.parentId);
    const path = header === undefined || above === undefined ? undefined : joinPath(above, header.name);
    this.#paths.set(key, path);
    return path;
  }
}
