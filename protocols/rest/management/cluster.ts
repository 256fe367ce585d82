import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import { clusterWarnings, clusterWarningSeverities } from './cluster-warnings.ts';
import { type OperatorAccess, operatorPatterns } from '../access/operator-access.ts';
import { requireSystemAdministrator } from '../access/permission.ts';
import type { ClusterOverview, ClusterStatus, SeenMember, SeenNatsServer, SeenPartition } from '../ports.ts';
import type { RestRoute } from '../rest-route.ts';

/** Dependencies of the route. */
export interface ClusterContext {
  readonly operators: OperatorAccess;
  readonly cluster: ClusterStatus;
}

const number = { type: 'integer' } as const;
const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const listOf = (properties: JsonSchema): JsonSchema => ({
  type: 'array',
  items: { type: 'object', properties },
});

const overviewSchema = {
  type: 'object',
  properties: {
    mode: { type: 'string', enum: ['embedded', 'cluster'] },
    durability: { ...text, description: 'The class in force.' },
    durability_reason: { ...text, description: 'Why this one.' },
    followers_wanted: number,
    members: listOf({
      id: text,
      address: text,
      version: text,
      state: { type: 'string', enum: ['starting', 'ready', 'draining', 'suspect'] },
      is_self: { ...flag, description: 'The member that answers.' },
      load: {
        type: 'object',
        properties: { requests_in_flight: number, open_actors: number, pending_bytes: number },
      },
    }),
    partitions: listOf({
      partition: number,
      state: { type: 'string', enum: ['owned', 'unowned', 'quarantined'] },
      owner: { type: ['string', 'null'] },
      epoch: { type: ['integer', 'null'] },
      last_sequence: { type: ['integer', 'null'] },
      followers: listOf({ member: text, is_warm: flag, records_behind: { type: ['integer', 'null'] } }),
      log_bytes: { type: ['integer', 'null'] },
      log_bytes_max: { type: ['integer', 'null'] },
      snapshot: {
        type: ['object', 'null'],
        properties: { sequence: number, age_seconds: number, bytes: number, member: text },
      },
    }),
    nats_servers: listOf({
      name: text,
      version: text,
      state: { type: 'string', enum: ['reachable', 'unreachable'] },
      syncs_always: { type: ['boolean', 'null'] },
    }),
    warnings: listOf({
      code: { type: 'string', enum: Object.keys(clusterWarningSeverities) },
      severity: { type: 'string', enum: ['notice', 'alarm'] },
      message: text,
    }),
  },
} as const;

/**
 * The state of the cluster for operators: members, owners, lag of followers, warnings.
 *
 * @see docs/interface/conventions.md#system-routes
 */
export function clusterRoutes(context: ClusterContext): readonly RestRoute[] {
  return [
    {
      method: 'GET',
      pattern: operatorPatterns.cluster,
      operationId: 'readCluster',
      body: 'none',
      auth: 'optional',
      duringOutages: true,
      permit: (request) => context.operators.require(request),
      docs: {
        summary: 'The state of the cluster',
        description:
          'Members, partitions with their owners and followers, NATS servers and warnings, as seen by the member that answers. A value that it cannot determine within two seconds is null. A single member describes itself. Requests from the machine itself need no token. Others, and requests through a proxy, need the operator token (`SVC_METRICS_TOKEN`) or the token of an administrator of the system.',
        tag: 'System',
        responses: {
          200: { description: 'The cluster.', schema: overviewSchema },
          401: { description: 'The caller is elsewhere and has no token.' },
          403: { description: 'The caller is no administrator of the system.' },
        },
      },
      async handler(request) {
        const overview = await context.cluster.read(request.signal);
        return { status: 200, headers: { 'Cache-Control': 'no-store' }, json: clusterJson(overview) };
      },
    },
    {
      method: 'POST',
      pattern: '/api/management/cluster/snapshots',
      operationId: 'takeSnapshots',
      body: 'optional-json',
      auth: 'required',
      permit: requireSystemAdministrator,
      docs: {
        summary: 'Take snapshots of partitions',
        description:
          'Members take snapshots by themselves as the logs grow. This request asks the responsible members to take them as soon as possible. The state of the cluster shows the newest ones.',
        tag: 'System',
        requestSchema: {
          type: 'object',
          properties: { partition: { ...number, description: 'Default: all of them.' } },
          additionalProperties: false,
        },
        responses: {
          202: {
            description: 'The members were asked.',
            schema: { type: 'object', properties: { asked: { type: 'boolean', const: true } } },
          },
          400: { description: 'There is no such partition.' },
          403: { description: 'The caller is no administrator of the system.' },
          404: { description: 'A single member has no snapshots.' },
        },
      },
      async handler(request) {
        const fields = request.body === undefined ? undefined : bodyFields(request.body);
        context.cluster.takeSnapshots(fields?.optionalInteger('partition'));
        return { status: 202, json: { asked: true } };
      },
    },
  ];
}

/** The cluster in the form of the response. */
export function clusterJson(overview: ClusterOverview) {
  return {
    mode: overview.mode,
    durability: overview.durability,
    durability_reason: overview.durabilityReason,
    followers_wanted: overview.followersWanted,
    members: overview.members.map(memberJson),
    partitions: overview.partitions.map(partitionJson),
    nats_servers: overview.natsServers.map(natsServerJson),
    warnings: clusterWarnings(overview),
  };
}

function memberJson({ id, url, version, state, isSelf, load }: SeenMember) {
  return {
    id,
    address: url,
    version,
    state,
    is_self: isSelf,
    load: {
      requests_in_flight: load.requestsInFlight,
      open_actors: load.openActors,
      pending_bytes: load.pendingBytes,
    },
  };
}

function partitionJson({ partition, owner, lastSequence, followers, log, quarantine }: SeenPartition) {
  return {
    partition,
    state: quarantine !== undefined ? 'quarantined' : owner === undefined ? 'unowned' : 'owned',
    owner: owner?.member ?? null,
    epoch: owner?.epoch ?? null,
    last_sequence: lastSequence ?? null,
    followers: followers.map(({ member, isWarm, recordsBehind }) => ({
      member,
      is_warm: isWarm,
      records_behind: recordsBehind ?? null,
    })),
    log_bytes: log?.bytes ?? null,
    log_bytes_max: log?.bytesMax ?? null,
    snapshot:
      log?.snapshot === undefined
        ? null
        : {
            sequence: log.snapshot.sequence,
            age_seconds: Math.floor(log.snapshot.ageMs / 1000),
            bytes: log.snapshot.bytes,
            member: log.snapshot.member,
          },
  };
}

function natsServerJson({ name, version, isReachable, syncsAlways }: SeenNatsServer) {
  return {
    name,
    version,
    state: isReachable ? 'reachable' : 'unreachable',
    syncs_always: syncsAlways ?? null,
  };
}
