import type { OperationError, OperationState } from './backup-ports.ts';

/** The common fields of backups, restores and checks, which continue after the response. */
export interface OperationInfo {
  readonly state: OperationState;
  /** ISO 8601, as all times. */
  readonly startedAt: string;
  readonly finishedAt: string | undefined;
  /** The item that is being processed. */
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

/** The common fields of operations in responses. */
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

/** Properties of the JSON Schema of {@link OperationJson}. @param current description of `current` */
export function operationSchema(current: string) {
  return {
    state: { type: 'string', enum: ['running', 'done', 'failed'] },
    started_at: { type: 'string', format: 'date-time' },
    finished_at: { type: ['string', 'null'], format: 'date-time' },
    current: { ...optionalText, description: current },
    error: { type: ['object', 'null'], properties: { code: text, message: text } },
  } as const;
}

/** The documented response to all other callers. */
export const forbidden = { description: 'The caller is no administrator of the system.' } as const;
