import type { OperationError, OperationState } from './backup-ports.ts';

/** What backups, restores and checks have in common: they run on when the answer has left. */
export interface OperationInfo {
  readonly state: OperationState;
  /** ISO 8601, as all times. */
  readonly startedAt: string;
  readonly finishedAt: string | undefined;
  /** What is worked on now. */
  readonly current: string | undefined;
  readonly error: OperationError | undefined;
}

/** {@link OperationInfo} on the wire. */
export interface OperationJson {
  readonly state: OperationState;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly current: string | null;
  readonly error: OperationError | null;
}

/** What the routes of operations answer of them. */
export function operationJson({
  current,
  error,
  finishedAt,
  startedAt,
  state,
}: OperationInfo): OperationJson {
  return {
    state,
    started_at: startedAt,
    finished_at: finishedAt ?? null,
    current: current ?? null,
    error: error ?? null,
  };
}

/** JSON Schema of a text. */
export const text = { type: 'string' } as const;

/** JSON Schema of a text or null. */
export const optionalText = { type: ['string', 'null'] } as const;

/** Properties of the JSON Schema of {@link OperationJson}. @param current says what `current` is */
export function operationSchema(current: string) {
  return {
    state: { type: 'string', enum: ['running', 'done', 'failed'] },
    started_at: { type: 'string', format: 'date-time' },
    finished_at: { type: ['string', 'null'], format: 'date-time' },
    current: { ...optionalText, description: current },
    error: { type: ['object', 'null'], properties: { code: text, message: text } },
  } as const;
}

/** The documented answer to everybody else. */
export const forbidden = { description: 'The caller is no administrator of the system.' } as const;
