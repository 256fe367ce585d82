import type { ActorEvent } from '#runtime/commit/behaviour.ts';

const TYPE = 'JobWaiting';

/** A job is committed and may be claimed: told by the actor that keeps it, again when it is enqueued again. */
export interface JobWaiting extends ActorEvent {
  readonly type: typeof TYPE;
  readonly id: string;
}

/** The event of a job. */
export function jobWaiting(id: string): JobWaiting {
  return { type: TYPE, id };
}

/** Whether an event says that a job may be claimed. */
export function isJobWaiting(event: ActorEvent): event is JobWaiting {
  return event.type === TYPE;
}
