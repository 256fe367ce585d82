import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { uniqueValueInSteps } from '#runtime/index/unique-value.ts';
import { scanIds } from '#runtime/scan/scan.ts';
import type { Side } from '../../pair/branch-pair.ts';
import { definitionPath } from '../../pair/definition-names.ts';
import { uniqueHolder } from '../../pair/pair-queries.ts';
import type { NodeAddress } from '../../pair-messages.ts';
import { nodeKeyOf } from '../merge-sides.ts';
import { type ChangedDefinition, refusalOf } from './merged-schemas.ts';
import { bothChangesText, isChanged, type MergedNode, type MergeView, partyLabel } from './merge-view.ts';
import { bothSides, subjectOf } from './node-violations.ts';
import { RepeatedValues } from './repeated-values.ts';
import type { Violation } from './violation.ts';

/** Most nodes with the same value that one violation names. */
const RIVALS_TOLD_MAX = 10;

/** The nodes of one type in one workspace that a side changed. */
interface TypeInPlace {
  readonly workspace: string;
  readonly nodeType: string;
  /** The sides that changed some of the nodes. */
  readonly sides: Set<Side>;
  readonly nodes: MergedNode[];
  readonly properties: readonly UniqueProperty[];
  hasGiven: boolean;
}

/** A property that is unique in the merged schema. */
interface UniqueProperty {
  readonly name: string;
  /** Sides on which it is not unique. */
  readonly freeOn: readonly Side[];
}

/** The nodes with one value. */
interface Holders {
  /** Those that a side changed. */
  readonly nodes: MergedNode[];
  /** The first ones that neither side changed, without their records: they may be all nodes of a type. */
  readonly unchanged: NodeAddress[];
}

/**
 * Finds nodes with the same value of a unique property. Neither side alone has such nodes, so that both sides must have
 * changed one of them, and comparing changed nodes is enough. If a property becomes unique by the merge, the other node
 * may be one that neither side changed. The unique index of the side on which the property is unique has it. No index has
 * it if the property is unique on neither side, and becomes so by definitions of both: then all nodes of the type are
 * compared. They are read twice, so that no more is kept of them than the values that come again.
 */
export class UniqueViolations {
  readonly #view: MergeView;
  readonly #note: (violation: Violation) => void;
  readonly #types = new Map<string, TypeInPlace>();

  constructor(view: MergeView, note: (violation: Violation) => void) {
    this.#view = view;
    this.#note = note;
  }

  /** Adds a node to be compared. */
  add(node: MergedNode): void {
    const { key, state, workspace } = node;
    const { sides, tree } = this.#view;
    const type = this.#typeIn(workspace, state.nodeType);
    if (type.properties.length === 0) return;
    type.nodes.push(node);
    if (sides.own.has(key)) type.sides.add('own');
    if (sides.other.has(key)) type.sides.add('other');
    type.hasGiven ||= tree.decisionOf(node)?.properties !== undefined;
  }

  #typeIn(workspace: string, nodeType: string): TypeInPlace {
    const place = nodeKeyOf(workspace, nodeType);
    let type = this.#types.get(place);
    if (type === undefined) {
      const properties = this.#uniqueIn(workspace, nodeType);
      type = { workspace, nodeType, sides: new Set(), nodes: [], properties, hasGiven: false };
      this.#types.set(place, type);
    }
    return type;
  }

  /** To be called when all nodes have been added. Yields where the work may pause. */
  *find(): Generator<undefined, void> {
    yield* this.#noteAllTypes();
    for (const type of this.#types.values()) {
      for (const property of type.properties) {
        const isFree = property.freeOn.some((side) => type.sides.has(side));
        if (type.sides.size < 2 && !isFree && !type.hasGiven && !isFreeOnBoth(property)) continue;
        yield* this.#compare(type, property);
      }
      yield;
    }
  }

  /** A property may become unique in a type whose nodes neither side changed, if both sides changed definitions. */
  *#noteAllTypes(): Generator<undefined, void> {
    const { schemas, usedTypes } = this.#view;
    if (bothSides.some((side) => schemas.differing(side).size === 0)) return;
    for (const { nodeType, workspace } of usedTypes()) {
      yield;
      if (bothSides.every((side) => schemas.affects(side, workspace, nodeType, null)))
        this.#typeIn(workspace, nodeType);
    }
  }

  /** The values of the nodes of a type that neither side changed. Yields undefined where the work may rest. */
  *#unchangedValues(
    { nodeType, workspace }: TypeInPlace,
    { name }: UniqueProperty,
  ): Generator<{ readonly id: string; readonly value: string } | undefined, void> {
    const { moment, tree } = this.#view;
    for (const id of scanIds(moment, { kind: 'paths', workspace, nodeType })) {
      yield undefined;
      if (id === undefined || isChanged(this.#view, { workspace, id })) continue;
      const state = yield* tree.stateOf({ workspace, id });
      // At an earlier revision the nodes of a type are among all nodes.
      if (state?.nodeType !== nodeType) continue;
      const value = yield* this.#valueOf({ workspace, id, state }, name);
      if (value !== undefined) yield { id, value };
    }
  }

  #uniqueIn(workspace: string, nodeType: string): readonly UniqueProperty[] {
    const uniqueOn = (state: Side | 'merged'): readonly string[] => {
      let unique: readonly string[] = [];
      refusalOf(() => {
        unique = this.#view.schemas.in(workspace, state)?.nodeType(nodeType)?.unique ?? [];
      });
      return unique;
    };
    const merged = uniqueOn('merged');
    if (merged.length === 0) return [];
    const bySide = { own: uniqueOn('own'), other: uniqueOn('other') };
    return merged.map((name) => ({
      name,
      freeOn: bothSides.filter((side) => !bySide[side].includes(name)),
    }));
  }

  *#compare(type: TypeInPlace, property: UniqueProperty): Generator<undefined, void> {
    let causes: readonly ChangedDefinition[] | undefined;
    for (const [value, { nodes, unchanged }] of yield* this.#holders(type, property)) {
      yield;
      const indexed = yield* this.#unchangedHolder(type, property, value, nodes);
      const all = [...(indexed === undefined ? unchanged : [indexed]), ...nodes];
      if (all.length === 1) continue;
      causes ??= this.#causes(type, property);
      if (causes.some(({ isOpen }) => isOpen)) return;
      if (nodes.length === 0) yield* this.#noteUnchangedClash(type, property, causes, unchanged);
      for (const node of nodes) {
        yield;
        yield* this.#noteClash(property, causes, node, all);
      }
    }
  }

  /** The nodes with each value that a changed node has, or that several nodes may have. */
  *#holders(type: TypeInPlace, property: UniqueProperty): Generator<undefined, ReadonlyMap<string, Holders>> {
    const held = new Map<string, Holders>();
    const holdersOf = (value: string): Holders => {
      const known = held.get(value) ?? { nodes: [], unchanged: [] };
      held.set(value, known);
      return known;
    };
    for (const node of type.nodes) {
      yield;
      const value = yield* this.#valueOf(node, property.name);
      if (value !== undefined) holdersOf(value).nodes.push(node);
    }
    if (!isFreeOnBoth(property)) return held;
    const repeated = new RepeatedValues();
    for (const found of this.#unchangedValues(type, property)) {
      yield;
      if (found !== undefined) repeated.note(found.value);
    }
    for (const found of this.#unchangedValues(type, property)) {
      yield;
      if (found === undefined || !(held.has(found.value) || repeated.mayRepeat(found.value))) continue;
      const { unchanged } = holdersOf(found.value);
      if (unchanged.length < RIVALS_TOLD_MAX) unchanged.push({ workspace: type.workspace, id: found.id });
    }
    return held;
  }

  *#valueOf(
    { id, state, workspace }: Omit<MergedNode, 'key' | 'home'>,
    name: string,
  ): Generator<undefined, string | undefined> {
    const given = this.#view.tree.decisionOf({ workspace, id })?.properties;
    let value: JsonValue | undefined;
    if (given !== undefined) value = Object.hasOwn(given, name) ? given[name] : undefined;
    else if (!state.isLarge) value = state.property(name);
    else value = (yield* state.decode())[name];
    return value === undefined ? undefined : yield* uniqueValueInSteps(value);
  }

  /** A node that neither side changed and that has the value. */
  *#unchangedHolder(
    { nodeType, workspace }: TypeInPlace,
    { freeOn, name }: UniqueProperty,
    value: string,
    nodes: readonly MergedNode[],
  ): Generator<undefined, MergedNode | undefined> {
    const isGiven = nodes.some((node) => this.#view.tree.decisionOf(node)?.properties !== undefined);
    for (const side of bothSides) {
      const isFree = freeOn.length > 0 && nodes.some(({ home }) => freeOn.includes(home));
      if (freeOn.includes(side) || (!isFree && !isGiven)) continue;
      const id = this.#holderOn(side, { workspace, nodeType, property: name, value });
      if (id === undefined || isChanged(this.#view, { workspace, id })) continue;
      // The index is that of the head, and the merge may read an earlier revision.
      const state = yield* this.#view.tree.stateOf({ workspace, id });
      if (state?.nodeType !== nodeType) continue;
      const holder = { workspace, id, key: nodeKeyOf(workspace, id), state, home: side };
      if ((yield* this.#valueOf(holder, name)) === value) return holder;
    }
    return undefined;
  }

  #holderOn(side: Side, place: Parameters<typeof uniqueHolder>[1]): string | undefined {
    const { moment, pair } = this.#view;
    if (side === 'other') return pair.otherUniqueHolder(place);
    const holder = uniqueHolder(moment.reader, place);
    moment.rest();
    return holder;
  }

  *#noteClash(
    { freeOn, name }: UniqueProperty,
    causes: readonly ChangedDefinition[],
    node: MergedNode,
    nodes: readonly NodeAddress[],
  ): Generator<undefined, void> {
    const rivals: NodeAddress[] = [];
    for (const rival of nodes) {
      if (rival !== node) rivals.push(addressOf(rival));
      if (rivals.length === RIVALS_TOLD_MAX) break;
    }
    const [first] = rivals as [NodeAddress];
    this.#note({
      type: 'DuplicateValue',
      message:
        `Property '${name}' must be unique; ${yield* partyLabel(this.#view, first)} has the same value` +
        bothChangesText(this.#view, freeOn[0] ?? node.home, causes),
      property: name,
      ...subjectOf(node),
      others: [...rivals, ...causes],
    });
  }

  /** Nodes that neither side changed cannot have a resolution, so the definitions are the subject. */
  *#noteUnchangedClash(
    { nodeType }: TypeInPlace,
    { name }: UniqueProperty,
    causes: readonly ChangedDefinition[],
    nodes: readonly NodeAddress[],
  ): Generator<undefined, void> {
    const [first, ...others] = causes;
    if (first === undefined) return;
    const rivals = nodes.slice(0, RIVALS_TOLD_MAX).map(addressOf);
    const [one, two] = rivals as [NodeAddress, NodeAddress];
    const labels = `${yield* partyLabel(this.#view, one)} and ${yield* partyLabel(this.#view, two)}`;
    this.#note({
      type: 'DuplicateValue',
      message: `Property '${name}' of type '${nodeType}' must be unique; ${labels} have the same value`,
      property: name,
      subject: { kind: first.kind, name: first.name },
      path: definitionPath(first),
      others: [...rivals, ...others],
    });
  }

  /** The definitions that make a property unique which is not on some sides. */
  #causes({ nodeType, workspace }: TypeInPlace, { freeOn }: UniqueProperty): readonly ChangedDefinition[] {
    if (freeOn.length === 0) return [];
    return this.#view.schemas.causes(freeOn, workspace, (schema) => void schema.nodeType(nodeType));
  }
}

/** Whether a property is unique on neither side. */
function isFreeOnBoth({ freeOn }: UniqueProperty): boolean {
  return freeOn.length === bothSides.length;
}

function addressOf({ id, workspace }: NodeAddress): NodeAddress {
  return { workspace, id };
}
