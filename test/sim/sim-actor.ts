import type { LockGuard } from '#actors/branch/lock-guard.ts';
import type { HeldLock } from '#actors/locks/messages.ts';
import type { ActorBehaviour, Turn } from '#runtime/commit/behaviour.ts';
import { encodeRevision, formatRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { SimScheduler } from './sim-scheduler.ts';

/** Table with the data of a simulated actor. */
export const DATA = 3;
/** Table with one row for every effect: revision to operation. */
export const LEDGER = 4;
/** Number of tables of a simulated actor. */
export const SIM_TABLES = 5;

/** A command of a simulated actor. */
export interface SimCommand {
  readonly kind: 'put' | 'remove' | 'append' | 'fail' | 'long' | 'wide' | 'read';
  /** Names the operation; it takes effect once at most. */
  readonly operation: string;
  readonly key: string;
  /** It happens only while this lock is held with this token. */
  readonly lock?: HeldLock;
}

/** Rows of a wide command: more than one application takes. */
const WIDE_ROWS = 4100;

/** Writes what an operation does and its name into the ledger, and answers its revision. */
function execute({ kind, operation, key }: SimCommand, turn: Turn): string {
  const name = Buffer.from(operation);
  if (kind === 'read') return String(turn.get(DATA, key));
  if (kind === 'remove') turn.remove(DATA, key);
  else if (kind === 'append') {
    turn.put(DATA, key, Buffer.concat([turn.get(DATA, key) ?? Buffer.alloc(0), Buffer.from(','), name]));
  } else turn.put(DATA, key, name);
  if (kind === 'wide') for (let row = 0; row < WIDE_ROWS; row += 1) turn.put(DATA, `wide${row}`, name);
  turn.put(LEDGER, encodeRevision(turn.revision), name);
  turn.emit({ type: operation });
  if (kind === 'fail') throw new ServiceError('VALIDATION_FAILED', operation);
  return formatRevision(turn.revision);
}

function* executeLong(
  command: SimCommand,
  turn: Turn,
  scheduler: SimScheduler,
): Generator<undefined, string> {
  for (let step = 0; step < 4; step += 1) {
    turn.put(DATA, `${command.key}${step}`, Buffer.from(command.operation));
    scheduler.work(4);
    yield;
  }
  return execute(command, turn);
}

/** The behaviour of a simulated actor. @param guard asked for the locks that commands name */
export function simActor(scheduler: SimScheduler, guard?: LockGuard): ActorBehaviour {
  return {
    execute: (command: SimCommand, turn: Turn) => {
      if (command.lock !== undefined) guard?.require(command.lock);
      return command.kind === 'long' ? executeLong(command, turn, scheduler) : execute(command, turn);
    },
    query: () => undefined,
    batchEnded: () => guard?.settle(),
  };
}
