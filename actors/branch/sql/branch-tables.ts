import { type Policy, policyFor } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { SchemaCache } from '#runtime/tree/schema-store.ts';
import type { BranchState } from '../branch-state.ts';

/** Who reads, and what the request may still use. A query has it, and a command. */
export type ReadingContext = Pick<QueryContext, 'caller' | 'budget'>;

/** What a statement reads a branch with. */
export interface BranchTables {
  readonly state: BranchState;
  readonly context: ReadingContext;
  /** Shows one state of the branch for as long as the statement runs. */
  readonly reader: TableReader;
  /** The schemas as the reader shows them: of a query or of a command. */
  readonly schemas: SchemaCache;
  /** The revision that is read, with nothing later than it visible; undefined: the head. */
  readonly moment: Revision | undefined;
  /**
   * Another branch of the same repository, or a tag, as the caller of the statement may see it. The same object for the same
   * name.
   *
   * @returns yields where the work may pause
   * @throws {ServiceError} `BRANCH_NOT_FOUND`
   */
  other(name: string): Generator<undefined, BranchTables>;
}

/** What another branch lends, see `LendBranch`. */
export interface LentBranch {
  readonly state: BranchState;
  readonly context: QueryContext;
  /** Of the principal of the message: undefined where the principal alone decides; a generator that has to run first. */
  readonly policy: Policy | Generator<undefined, Policy> | undefined;
}

/** The branches that one run of statements reads. It must be closed. */
export class OpenBranches {
  /** The branch that runs the statements. */
  readonly own: BranchTables;
  readonly #others = new Map<string, BranchTables>();
  readonly #closings: (() => void)[] = [];

  /** @param own what the branch that runs the statements is read with */
  constructor(own: Omit<BranchTables, 'other'>) {
    this.own = { ...own, other: (name) => this.#other(name) };
  }

  /** Releases what other branches have lent. */
  close(): void {
    for (const close of this.#closings.splice(0)) close();
  }

  *#other(name: string): Generator<undefined, BranchTables> {
    if (name === this.own.state.name) return this.own;
    const known = this.#others.get(name);
    if (known !== undefined) return known;
    const opened = yield* this.#open(name);
    this.#others.set(name, opened);
    return opened;
  }

  *#open(name: string): Generator<undefined, BranchTables> {
    const { context, state } = this.own;
    const found = state.branchNamed(name);
    if (found === undefined) throw branchNotFound(name);
    const { caller } = context;
    const lent = lentBy(state, found.actor, caller.principal, name);
    const policy = lent.policy !== undefined && 'next' in lent.policy ? yield* lent.policy : lent.policy;
    const decided = policy ?? policyFor(caller.principal, state.tenant);
    // A statement may read it over several turns, in which it goes on changing.
    const snapshot = lent.context.pin();
    this.#closings.push(() => snapshot.close());
    return {
      state: lent.state,
      // Its work and memory are counted with the rest of the statement.
      context: { caller: { ...caller, policy: decided }, budget: context.budget },
      reader: snapshot,
      schemas: lent.state.querySchemas,
      moment: found.taggedAt === undefined ? undefined : parseRevision(found.taggedAt),
      other: (another) => this.#other(another),
    };
  }
}

function lentBy(
  state: BranchState,
  actor: string,
  principal: QueryContext['caller']['principal'],
  name: string,
): LentBranch {
  try {
    return state.askBranch(actor, { type: 'LendBranch', principal }) as LentBranch;
  } catch (error) {
    // It was deleted while the name was looked up, or this member's replica does not have it yet.
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') throw branchNotFound(name);
    throw error;
  }
}

/** The same for a branch that is not there and for one that is hidden from the caller. */
function branchNotFound(name: string): ServiceError {
  return new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
}
