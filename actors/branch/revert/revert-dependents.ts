import { parseRevision } from '#runtime/content/revision.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { readBranchHead, readChangeParts, readRevision } from '#runtime/tree/revision-store.ts';
import type { DefinitionChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import { readDefinition } from '#runtime/tree/schema-store.ts';
import { CHANGED_NODES_MAX } from '../pair/branch-pair.ts';
import { requireSound } from '../schema/definitions.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { EditScope } from '../edit-scope.ts';
import { type PlannedWrites, requireValidNode } from '../merge/planned-writes.ts';
import { nodeKey, type RevertPlan } from './revert-plan.ts';

interface NodeAddress {
  readonly workspace: string;
  readonly id: string;
}

type DefinitionAddress = Pick<DefinitionChange, 'kind' | 'name'>;

/**
 * Nodes and definitions that may depend on definitions which a revert undoes: those that later revisions changed and
 * that are valid now. They must still be valid after the revert. Everything older was made under the definitions that
 * the revert restores.
 *
 * The cost grows with the changes of the later revisions; it is zero if no definition is undone.
 */
export class Dependents {
  readonly #edit: EditScope;
  readonly #plan: RevertPlan;
  readonly #nodes: NodeAddress[] = [];
  readonly #definitions: DefinitionAddress[] = [];

  private constructor(edit: EditScope, plan: RevertPlan) {
    this.#edit = edit;
    this.#plan = plan;
  }

  /**
   * Reads the current state; to be called before anything is written.
   *
   * @param records of the reverted revisions, oldest first
   * @throws {ServiceError} `VALIDATION_FAILED` when more than `CHANGED_NODES_MAX` nodes were changed since
   */
  static *on(
    edit: EditScope,
    plan: RevertPlan,
    records: readonly RevisionRecord[],
  ): Generator<undefined, Dependents> {
    const dependents = new Dependents(edit, plan);
    if (plan.definitions.length === 0) return dependents;
    const first = records.find(({ definitions }) => definitions.length > 0) as RevisionRecord;
    yield* dependents.#gather(first.revision);
    return dependents;
  }

  /** To be called when everything is written. @throws {ServiceError} `VALIDATION_FAILED`, naming what is invalid */
  *requireStill(writes: PlannedWrites): Generator<undefined, void> {
    const restored = this.#plan.definitions.filter(({ after }) => after !== undefined);
    yield* eachInSlices([...restored, ...this.#definitions], ({ kind, name }) => {
      try {
        this.#requireSound({ kind, name });
      } catch (error) {
        throw naming(kind, name, error);
      }
    });
    yield* writes.requireValid(this.#nodes);
  }

  /** Goes back from the head to the first reverted revision that changed a definition. */
  *#gather(first: string): Generator<undefined, void> {
    const { turn } = this.#edit;
    const nodes = new Map<string, NodeAddress>();
    const definitions = new Map<string, DefinitionAddress>();
    for (let next = readBranchHead(turn).head; ; ) {
      const record = readRevision(turn, next) as RevisionRecord;
      for (const part of readChangeParts(turn, record)) {
        for (const { node_id: id, workspace } of part)
          nodes.set(nodeKey({ workspace, id }), { workspace, id });
        yield;
      }
      for (const { kind, name } of record.definitions) definitions.set(`${kind}\0${name}`, { kind, name });
      if (nodes.size > CHANGED_NODES_MAX) {
        throw invalid(
          `More than ${CHANGED_NODES_MAX} nodes were changed since the types were; revert sooner`,
        );
      }
      if (record.revision === first) break;
      next = parseRevision(record.parent as string);
      yield;
    }
    yield* eachInSlices(nodes.values(), (node) => this.#gatherNode(node));
    yield* eachInSlices(definitions.values(), (definition) => {
      if (isFine(() => this.#requireSound(definition))) this.#definitions.push(definition);
    });
  }

  *#gatherNode(node: NodeAddress): Generator<undefined, void> {
    const { id, workspace } = node;
    const record = yield* this.#edit.head.byIdInSteps(workspace, id);
    if (record === undefined) return;
    try {
      yield* requireValidNode(this.#edit, workspace, record);
      this.#nodes.push(node);
    } catch (error) {
      if (!isInvalid(error)) throw error;
    }
  }

  #requireSound({ kind, name }: DefinitionAddress): void {
    const definition = readDefinition(this.#edit.turn, kind, name);
    if (definition !== undefined) requireSound(this.#edit, kind, definition);
  }
}

function isFine(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (isInvalid(error)) return false;
    throw error;
  }
}

function isInvalid(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'VALIDATION_FAILED';
}

function naming(kind: string, name: string, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') return error;
  const what = kind.replace('_', ' ');
  return invalid(`The revert would make ${what} '${name}' invalid: ${error.message}`, {
    details: { ...error.details, name },
    cause: error,
  });
}
