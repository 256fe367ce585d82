import { DecisionWork } from '#runtime/access/decision-work.ts';
import { allFields, type FieldFilter } from '#runtime/access/field-filter.ts';
import type { ReadScope } from '#runtime/access/policy.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { isNodeId } from '#runtime/content/content-node.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import { ReadableRow, type RowPredicate } from '#runtime/scan/row-filter.ts';
import { scan } from '#runtime/scan/scan.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { Evaluate } from '#runtime/sql-exec/expressions/evaluate.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { STEP_BYTES } from '#runtime/tree/record/steps.ts';
import type { NodeAccess } from '../../reads/node-access.ts';
import type { NodeValues } from './node-values.ts';
import type { RowSource, ScanPart } from './row-source.ts';
import { StoredValues } from './stored-values.ts';

/** Estimated nanoseconds to look at a row where it is stored, besides its conditions. */
const LOOK_WORK = 300;

/** Estimated nanoseconds of a look-up. */
const LOOK_UP_WORK = 8_000;

/** A node that may be read. */
export interface FoundNode {
  readonly record: NodeRecord;
  /** Its position in the source; empty where it was looked up. */
  readonly position: string;
  /** Whether the conditions for stored rows were found to hold for it. */
  readonly isDecided: boolean;
}

/** Conditions that are evaluated where a node is stored. */
export interface StoredConditions {
  readonly all: readonly Evaluate<NodeValues>[];
  /** Whether they read properties that are hidden from the caller in some nodes. */
  readonly isHiding: boolean;
  /** Whether they read properties of which rows have translated values: they do not decide about a node with translations. */
  readonly areTranslated: boolean;
}

/** Makes rows of nodes where they are stored, so that these are not copied. */
export interface RowsInPlace {
  /** Whether what they show of a node with translations is not what is stored, or nothing. */
  readonly areTranslated: boolean;
  /** Whether what they show of a node with relations is not what is stored. */
  readonly areRelated: boolean;
  /** Whether they show properties that are hidden from the caller in some nodes. */
  readonly isHiding: boolean;
  /** Whether they show all properties, so that they show no node of which one is hidden. */
  readonly isWhole: boolean;
  /** Whether the checksum of a record is verified before a row is made of it. */
  readonly isVerified: boolean;
  /** Whether as many rows were made as are wanted now. */
  readonly isFull: boolean;
  /** Whether a row is made at all; asked before the checksum is verified. */
  wants(values: StoredValues): boolean;
  /** Whether the row can be made without a look-up; asked of a row that is wanted. */
  canTake(values: StoredValues): boolean;
  /** Makes the row. @param bytes length of the record */
  take(values: StoredValues, bytes: number): void;
}

/** What nodes are found with. */
export interface FinderMeans {
  readonly workspace: string;
  readonly access: NodeAccess;
  readonly moment: Moment;
  readonly budget: RequestBudget;
}

/** Finds the nodes of a source that the caller may read. No condition looks at another node. */
export class NodeFinder {
  readonly #means: FinderMeans;
  readonly #scope: ReadScope;
  readonly #conditions: StoredConditions;
  readonly #inPlace: RowsInPlace | undefined;
  readonly #values: StoredValues;
  /** Counts the work of questions about rows in place. */
  readonly #work: DecisionWork;
  /** Whether the last row in place did not tell whether it may be read. */
  #isOpen = false;
  /** Whether any did: which of the rows that were found since it was is not known. */
  #hasOpen = false;
  /** Whether the conditions held for the last row in place, rather than left it open. */
  #isSettled = false;
  /** Whether a row waits to be returned: those behind it are returned too, so that all come in order. */
  #isWaiting = false;
  /** Whether the rest of the part is behind its end, or behind the last of its rows that are wanted. */
  #isOver = false;
  /** Whether the rows of the part come in the order of which the first rows are wanted. */
  #isInOrder = false;

  /** @param inPlace takes rows of a scan as it passes them; those that it cannot take are returned as nodes, in order */
  constructor(means: FinderMeans, conditions: StoredConditions, inPlace?: RowsInPlace) {
    this.#means = means;
    this.#scope = means.access.scope(means.workspace);
    this.#conditions = conditions;
    this.#inPlace = inPlace;
    this.#values = new StoredValues(means.budget);
    this.#work = new DecisionWork((nanoseconds) => means.budget.spend(nanoseconds));
  }

  /** The nodes; undefined where the work may pause. What was yielded must be used before the next one is taken. */
  *find(source: RowSource): Generator<FoundNode | undefined, void> {
    if (this.#scope.isNone) return;
    switch (source.kind) {
      case 'none':
        return;
      case 'ids':
        for (const id of source.ids) yield* this.#lookUp(id);
        return;
      case 'paths':
        for (const path of source.paths)
          yield* this.#lookUp(this.#means.moment.tree.idAt(this.#means.workspace, path));
        return;
      case 'scans':
        for (const part of source.parts) yield* this.#scan(part);
    }
  }

  *#lookUp(id: string | undefined): Generator<FoundNode | undefined, void> {
    const { access, budget, moment, workspace } = this.#means;
    budget.spend(LOOK_UP_WORK);
    const record = id !== undefined && isNodeId(id) ? yield* this.#recordOf(id) : undefined;
    if (record !== undefined && access.mayRead(workspace, record))
      yield { record, position: '', isDecided: false };
    moment.rest();
    yield undefined;
  }

  *#recordOf(id: string): Generator<undefined, NodeRecord | undefined> {
    const { moment, workspace } = this.#means;
    const found = moment.tree.quickById(workspace, id);
    return found instanceof LargeValue ? yield* moment.tree.byIdInSteps(workspace, id) : found;
  }

  *#scan({ isBehind, isInOrder, ...part }: ScanPart): Generator<FoundNode | undefined, void> {
    const { access, budget, moment, workspace } = this.#means;
    this.#isOver = false;
    this.#isInOrder = isInOrder === true;
    const predicate = this.#predicate(isBehind);
    const takes = this.#inPlace && this.#takerOf(this.#inPlace);
    const isFull = (): boolean => this.#isOver || this.#inPlace?.isFull === true;
    const asked = takes === undefined ? { ...part, isFull } : { ...part, isFull, takes };
    const rows = scan(moment, { ...asked, scope: this.#notingScope(), predicate, budget });
    for (const row of rows) {
      if (this.#isOver) return;
      if (row === undefined) {
        this.#isWaiting = false;
        yield undefined;
      } else {
        const { position, record } = row;
        const isDecided = !this.#hasOpen && this.#decides(record.isLarge, () => record.hasTranslations);
        if (!this.#hasOpen || access.allows('read', workspace, record)) yield { record, position, isDecided };
        // A scan goes on when all rows have been used that it returned.
        this.#isWaiting = false;
      }
    }
  }

  /** The scope of the caller; it notes where a row in place does not tell. */
  #notingScope(): ReadScope {
    const scope = this.#scope;
    const { allows } = scope;
    if (allows === undefined) return scope;
    return {
      ...scope,
      allows: (node) => {
        const holds = allows(node);
        this.#isOpen = holds === undefined;
        if (this.#isOpen) this.#hasOpen = true;
        return holds;
      },
    };
  }

  /** Hands rows to who makes them in place. */
  #takerOf(inPlace: RowsInPlace): RowPredicate {
    const values = this.#values;
    return (view) => {
      const shown = this.#isSettled ? this.#shownInPlace(view, inPlace) : undefined;
      if (shown !== undefined) {
        values.point(view, shown);
        if (!inPlace.wants(values)) {
          if (this.#isInOrder) this.#isOver = true;
          return true;
        }
      }
      if (shown === undefined || this.#isWaiting || !inPlace.canTake(values)) {
        this.#isWaiting = true;
        return false;
      }
      if (inPlace.isVerified) view.verify();
      inPlace.take(values, view.length);
      return true;
    };
  }

  /** The properties that rows in place show of a node; undefined: it has to be read. */
  #shownInPlace(view: RecordView, inPlace: RowsInPlace): FieldFilter | undefined {
    if (inPlace.areTranslated && view.hasTranslations) return undefined;
    if (inPlace.areRelated && view.hasRelations) return undefined;
    const shown = this.#shown(view, inPlace.isHiding);
    return inPlace.isWhole && shown?.isAll === false ? undefined : shown;
  }

  #predicate(isBehind: ScanPart['isBehind']): RowPredicate {
    const { all, isHiding } = this.#conditions;
    const { budget } = this.#means;
    return (view) => {
      budget.spend(LOOK_WORK);
      this.#isSettled = false;
      if (isBehind?.(view.column(Column.path) as string) === true) this.#isOver = true;
      if (this.#isOver) return false;
      // Conditions may fail, and take time: they must not tell anything about a node that may not be read.
      if (this.#isOpen || !this.#decides(view.length > STEP_BYTES, () => view.hasTranslations)) return true;
      const shown = this.#shown(view, isHiding);
      if (shown === undefined) {
        this.#hasOpen = true;
        return true;
      }
      this.#values.point(view, shown);
      for (const holds of all) if (holds(this.#values) !== true) return false;
      this.#isSettled = true;
      return true;
    };
  }

  /** Whether the conditions decide about a row where it is stored. */
  #decides(isLarge: boolean, hasTranslations: () => boolean): boolean {
    return !isLarge && !(this.#conditions.areTranslated && hasTranslations());
  }

  /** @param isHiding whether properties are read that are hidden from the caller in some nodes */
  #shown(view: RecordView, isHiding: boolean): FieldFilter | undefined {
    const { fields } = this.#scope;
    if (fields === undefined || !isHiding) return allFields;
    return fields(new ReadableRow(view, this.#work));
  }
}
