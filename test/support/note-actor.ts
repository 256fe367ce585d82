import { InvariantError } from '#runtime/base/assert.ts';
import type {
  ActorBehaviour,
  ActorContext,
  ActorKind,
  QueryContext,
  Turn,
} from '#runtime/commit/behaviour.ts';
import { DeferredReply } from '#runtime/commit/deferred-reply.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const NOTES = 3;

/** A command of a note actor: writes a note and answers its revision, or fails. */
export type NoteCommand =
  | { readonly type: 'Write' | 'Fail'; readonly key: string; readonly text: string }
  /** Runs until the gate is open, a little at a time. */
  | { readonly type: 'WriteAfter'; readonly gate: { isOpen: boolean }; readonly key: string }
  /** Waits for a later command, which never comes. */
  | { readonly type: 'Wait' }
  /** Finds that the actor is in a state it cannot be in. */
  | { readonly type: 'Break' }
  /** Copies a note of another actor. */
  | { readonly type: 'CopyFrom'; readonly actor: string; readonly key: string };

/** A query of a note actor. */
export type NoteQuery =
  /** Answers the text or undefined, at once. */
  | { readonly type: 'Read'; readonly key: string }
  /** Answers all notes by key, later, from a pinned state; `until` holds it up. */
  | { readonly type: 'ReadAll'; readonly until?: Promise<void> };

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

function* writeAfter(gate: { isOpen: boolean }, key: string, turn: Turn): Generator<undefined, string> {
  while (!gate.isOpen) yield;
  turn.put(NOTES, key, Buffer.from('after'));
  return formatRevision(turn.revision);
}

class NoteBehaviour implements ActorBehaviour {
  readonly #context: ActorContext;
  readonly #waiting: DeferredReply[] = [];

  constructor(context: ActorContext) {
    this.#context = context;
  }

  execute(command: NoteCommand, turn: Turn): unknown {
    if (command.type === 'CopyFrom') {
      const { actor, key } = command;
      const text = this.#context.ask(actor, { type: 'Read', key }) as string | undefined;
      if (text === undefined) throw new ServiceError('NOT_FOUND');
      turn.put(NOTES, key, Buffer.from(text));
      return text;
    }
    if (command.type === 'Break') throw new InvariantError('notes are where they are');
    if (command.type === 'Wait') {
      const reply = new DeferredReply();
      this.#waiting.push(reply);
      return reply;
    }
    if (command.type === 'WriteAfter') return writeAfter(command.gate, command.key, turn);
    turn.put(NOTES, command.key, Buffer.from(command.text));
    if (command.type === 'Fail') throw new ServiceError('VALIDATION_FAILED');
    return formatRevision(turn.revision);
  }

  query(query: NoteQuery, context: QueryContext): unknown {
    if (query.type === 'Read') return textOf(context.view.get(NOTES, query.key));
    return this.#readAll(context, query.until);
  }

  endWaits(reason: ServiceError): void {
    for (const reply of this.#waiting) reply.fail(reason);
  }

  async #readAll(context: QueryContext, until: Promise<void> | undefined): Promise<Record<string, string>> {
    const pin = context.pin();
    try {
      await until;
      const rows = [...pin.range(NOTES, { start: '', end: '\u00ff' })];
      return Object.fromEntries(rows.map(({ key, value }) => [key, textOf(value) as string]));
    } finally {
      pin.close();
    }
  }
}

/** A small kind of actor for tests of the host. */
export const noteActor: ActorKind = {
  kind: 'notes',
  tables: ['notes'],
  create: (context) => new NoteBehaviour(context),
};
