import type { Subjects } from './subjects.ts';

/** Subjects that a NATS user may publish and subscribe to. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/**
 * Requests to JetStream that a member makes. Operator requests are not included: removing streams and messages,
 * restoring, changing the servers.
 */
const jetStreamRequests = [
  '$JS.API.INFO',
  '$JS.API.STREAM.INFO.*',
  '$JS.API.STREAM.CREATE.*',
  '$JS.API.STREAM.PURGE.*',
  '$JS.API.STREAM.MSG.GET.*',
  '$JS.API.STREAM.LEADER.STEPDOWN.*',
  '$JS.API.DIRECT.GET.>',
  '$JS.API.CONSUMER.CREATE.>',
  '$JS.API.CONSUMER.DURABLE.CREATE.>',
  '$JS.API.CONSUMER.INFO.>',
  '$JS.API.CONSUMER.MSG.NEXT.>',
  '$JS.API.CONSUMER.DELETE.>',
  // Acknowledgements of job tickets.
  '$JS.ACK.>',
] as const;

/**
 * Returns the permissions of a member's user, and no more than it needs. The user cannot receive calls to other
 * members or the replies to them, remove a stream, or reach the system account.
 *
 * @param member `SVC_MEMBER_ID`; a member without a configured name has no inbox of its own
 */
export function memberPermissions(subjects: Subjects, member: string): Permissions {
  const broadcasts = [
    subjects.heartbeats,
    subjects.positions,
    subjects.storedPositions,
    subjects.replicaStatus,
    subjects.logins,
    subjects.cancelledJobs,
    subjects.snapshotRequests,
    subjects.allEvents,
    subjects.allFlushes,
    subjects.allFlushQuestions,
  ];
  return {
    publish: [
      ...broadcasts,
      subjects.allLogs,
      subjects.allSnapshots,
      subjects.jobTickets,
      subjects.allCalls,
      subjects.allMembers,
      // Replies.
      subjects.allInboxes,
      ...[subjects.blobBucket, subjects.snapshotBucket].map((bucket) => `$O.${bucket}.>`),
      ...jetStreamRequests,
    ],
    subscribe: [
      ...broadcasts,
      subjects.calls(member),
      `${subjects.member(member)}.>`,
      `${subjects.inbox(member)}.>`,
    ],
  };
}

/** The NATS user of a member. */
export interface MemberUser {
  readonly member: string;
  readonly password: string;
}

/** Formats users for the account of Grove in the configuration of nats-server. */
export function natsUsers(subjects: Subjects, users: readonly MemberUser[]): string {
  const list = (some: readonly string[]): string =>
    some.map((each) => `        ${JSON.stringify(each)}`).join('\n');
  const blocks = users.map(({ member, password }) => {
    const { publish, subscribe } = memberPermissions(subjects, member);
    return [
      '  {',
      `    user: ${JSON.stringify(member)}`,
      `    password: ${JSON.stringify(password)}`,
      '    permissions {',
      '      publish: { allow: [',
      list(publish),
      '      ] }',
      '      subscribe: { allow: [',
      list(subscribe),
      '      ] }',
      '    }',
      '  }',
    ].join('\n');
  });
  return `users: [\n${blocks.join('\n')}\n]\n`;
}
