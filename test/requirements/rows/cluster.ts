// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: cluster. */
export const clusterRows: readonly Requirement[] = [
  { id: 'CLU-001', section: 'docs/configuration.md#server', status: 'verified', theme: 'cluster', behaviour: '`SVC_NATS_URL` starts a member in cluster mode; unset, the member is embedded' },
  { id: 'CLU-002', section: 'docs/interface/guarantees.md#availability-of-a-cluster', status: 'verified', theme: 'cluster', behaviour: 'Any member answers any request, forwarding to the owner where needed' },
  { id: 'CLU-003', section: 'docs/interface/conventions.md#freshness-of-reads', status: 'verified', theme: 'cluster', behaviour: 'An acknowledged write is read on every member afterwards with `X-Svc-Consistency: strict`' },
  { id: 'CLU-004', section: 'docs/interface/guarantees.md#order-of-writes', status: 'verified', theme: 'cluster', behaviour: 'Two members never both acknowledge writes of one partition: a stale owner\'s append is refused by the log' },
  { id: 'CLU-005', section: 'docs/interface/guarantees.md#availability-of-a-cluster', status: 'verified', theme: 'cluster', behaviour: 'After the owner is killed, writes go on and no acknowledged write is lost; how long they paused is told, 6 seconds are meant' },
  { id: 'CLU-006', section: 'docs/interface/guarantees.md#availability-of-a-cluster', status: 'verified', theme: 'cluster', behaviour: 'In a planned hand-over no request fails and the heir waits for no lease; how long writes paused is told, under one second is meant' },
  { id: 'CLU-007', section: 'docs/interface/conventions.md#system-routes', status: 'verified', theme: 'cluster', behaviour: '`GET /api/management/cluster` answers members, partitions and owners to an admin, 403 to others' },
  { id: 'CLU-008', section: 'docs/interface/guarantees.md#durability-classes', status: 'verified', theme: 'cluster', behaviour: 'Health reports the durability class in force; an explicit class that the servers cannot give refuses to start' },
  { id: 'CLU-009', section: 'docs/interface/accounts.md#the-first-administrator', status: 'verified', theme: 'cluster', behaviour: '`JWT_SECRET` and `SVC_MASTER_KEY` are required in a cluster: without them a member refuses to start, naming them' },
  { id: 'CLU-010', section: 'docs/partition-log.md#snapshots-and-cutting-the-log', status: 'verified', theme: 'cluster', behaviour: 'A new member with an empty data directory rebuilds its shards from snapshots and the log' },
  { id: 'CLU-011', section: 'docs/interface/revisions.md#changes-for-subscribers', status: 'verified', theme: 'cluster', behaviour: 'Events of a branch reach subscribers on every member in revision order' },
  { id: 'CLU-012', section: 'docs/interface/guarantees.md#availability-of-a-cluster', status: 'verified', theme: 'cluster', behaviour: 'A write in a minority partition answers 503 and is not applied' },
  { id: 'CLU-040', section: 'docs/interface/jobs.md#attempts', status: 'verified', theme: 'cluster', behaviour: 'A job is done by any member that is free; when the one that runs it is killed another one finishes it' },
  { id: 'CLU-041', section: 'docs/interface/jobs.md#making-jobs', status: 'verified', theme: 'cluster', behaviour: 'Every job that was committed is delivered in a cluster, also when the owner is killed between the commit and the telling of it' },
  { id: 'CLU-043', section: 'docs/interface/guarantees.md#availability-of-a-cluster', status: 'verified', theme: 'cluster', behaviour: 'Members of different versions: they tell which formats they understand, a newer record or call is refused with what to do, and nothing is done' },
  { id: 'CLU-046', section: 'docs/interface/guarantees.md#damage', status: 'verified', theme: 'cluster', behaviour: 'A damaged actor of a member whose log was cut, without a whole snapshot, is refused alone: nothing is put away, all others of its partition are served, and it is made anew when another member has stored a snapshot' },
  { id: 'CLU-047', section: 'docs/interface/guarantees.md#availability-of-a-cluster', status: 'verified', theme: 'cluster', behaviour: 'A member that is started with the name of one that lives ends with 2 and says whose name it is, before the others hear of it; the one that lives keeps all it has' },
  { id: 'CLU-048', section: 'docs/interface/guarantees.md#availability-of-a-cluster', status: 'verified', theme: 'cluster', behaviour: 'Two processes that run under one name are an alarm in the status of every member, whichever of them the others listen to' },
];
