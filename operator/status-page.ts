import { OperatorError } from './operator-error.ts';

/** The shown part of the answer of `GET /api/management/cluster`. */
export interface StatusPage {
  readonly mode: string;
  readonly durability: string;
  readonly durability_reason: string;
  readonly members: readonly {
    readonly id: string;
    readonly address: string;
    readonly version: string;
    readonly state: string;
    readonly is_self: boolean;
    readonly load: {
      readonly requests_in_flight: number;
      readonly open_actors: number;
      readonly pending_bytes: number;
    };
  }[];
  readonly partitions: readonly {
    readonly partition: number;
    readonly state: string;
    readonly owner: string | null;
    readonly epoch: number | null;
    readonly last_sequence: number | null;
    readonly followers: readonly {
      readonly member: string;
      readonly is_warm: boolean;
      readonly records_behind: number | null;
    }[];
    readonly log_bytes: number | null;
    readonly snapshot: {
      readonly sequence: number;
      readonly age_seconds: number;
      readonly bytes: number;
    } | null;
  }[];
  readonly nats_servers: readonly {
    readonly name: string;
    readonly version: string;
    readonly state: string;
    readonly syncs_always: boolean | null;
  }[];
  readonly warnings: readonly {
    readonly code: string;
    readonly severity: string;
    readonly message: string;
  }[];
}

/**
 * Checks the answer. Another version of the server may answer additional fields.
 *
 * @throws {OperatorError} when the answer is no state of a cluster
 */
export function statusPageOf(json: unknown): StatusPage {
  const page = json as StatusPage | null | undefined;
  const lists = [page?.members, page?.partitions, page?.nats_servers, page?.warnings];
  if (typeof page?.mode === 'string' && lists.every(Array.isArray)) return page;
  throw new OperatorError('The answer is not the state of a cluster. Is it a Grove server of this version?');
}

/** Whether a warning requires action now. */
export function hasAlarms({ warnings }: StatusPage): boolean {
  return warnings.some(({ severity }) => severity === 'alarm');
}
