import type { Subjects } from './subjects.ts';

/** What a user of NATS may publish and listen to. */
export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/**
 * Requests to JetStream a member makes. Not among them is what only an operator does: removing streams and messages,
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
  // What became of a ticket.
  '$JS.ACK.>',
] as const;

/**
 * What the user of a member needs, and nothing else: it cannot listen to calls to others or to answers to them, remove a
 * stream, or reach the system account.
 *
 * @param member `SVC_MEMBER_ID`; one without a name of its own has no inbox of its own either
 */
export function memberPermissions(subjects: Subjects, member: string): Permissions {
  const toldToAll = [
    subjects.heartbeats,
    subjects.positions,
    subjects.storedPositions,
    subjects.standings,
    subjects.logins,
    subjects.cancelledJobs,
    subjects.snapshotRequests,
    subjects.allEvents,
    subjects.allFlushes,
    subjects.allFlushQuestions,
  ];
  return {
    publish: [
      ...toldToAll,
      subjects.allLogs,
      subjects.allSnapshots,
      subjects.jobTickets,
      subjects.allCalls,
      subjects.allMembers,
      // Answers.
      subjects.allInboxes,
      ...[subjects.blobBucket, subjects.snapshotBucket].map((bucket) => `$O.${bucket}.>`),
      ...jetStreamRequests,
    ],
    subscribe: [
      ...toldToAll,
      subjects.calls(member),
      `${subjects.member(member)}.>`,
      `${subjects.inbox(member)}.>`,
    ],
  };
}

/** A user of NATS for a member. */
export interface MemberUser {
  readonly member: string;
  readonly password: string;
}

/** Users as they stand in the account of Grove, in the configuration of nats-server. */
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
