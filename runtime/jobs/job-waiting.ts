import type { ActorEvent } from '#runtime/commit/behaviour.ts';

const TYPE = 'JobWaiting';

/** A job is committed and may be claimed. Published by the actor that stores it, again with every enqueue. */
export interface JobWaiting extends ActorEvent {
  readonly type: typeof TYPE;
  readonly id: string;
}

/** Creates the event of a job. */
export function jobWaiting(id: string): JobWaiting {
  return { type: TYPE, id };
}

/** Whether an event says that a job may be claimed. */
export function isJobWaiting(event: ActorEvent): event is JobWaiting {
  return event.type === TYPE;
}
