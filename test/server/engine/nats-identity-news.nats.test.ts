import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Subjects } from '#cluster/nats/subjects.ts';
import { type IdentityNews, IdentityNewsroom } from '#runtime/access/identity/identity-news.ts';
import { NatsIdentityNews } from '#server/engine/nats-identity-news.ts';
import { NatsLogins } from '#server/engine/nats-logins.ts';
import { testLink } from '#test/support/member-seals.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const nats = sharedNatsCluster(1);

const changed: IdentityNews = { kind: 'identity', tenant: 'default', identityId: 'ann %/ä' };
const configured: IdentityNews = { kind: 'configuration', tenant: 'a-b' };

let connections: readonly NatsConnection[];
let subjects: Subjects;
let run = 0;
/** What each member heard. */
let heard: IdentityNews[][];
let rooms: readonly IdentityNewsroom[];
let attempts: string[];

beforeAll(async () => {
  connections = await Promise.all([0, 1].map(() => connect({ servers: nats().urls })));
});

afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()));
});

beforeEach(async () => {
  run += 1;
  subjects = new Subjects(`news${run}`);
  heard = [[], []];
  attempts = [];
  rooms = connections.map((connection, index) => {
    const self = `${index}`.repeat(16);
    const room = new IdentityNewsroom(
      new NatsIdentityNews(testLink(connection, `m${index}`), subjects, self),
    );
    room.listen((news) => void heard[index]?.push(news));
    return room;
  });
  new NatsLogins(testLink(connections[1] as NatsConnection, 'm1'), subjects, 'f'.repeat(16)).listen(
    (place) => void attempts.push(place),
  );
  await Promise.all(connections.map((connection) => connection.flush()));
});

it('tells every member of a change once, this one without the way through NATS', async () => {
  rooms[0]?.tell(changed);
  expect(heard[0]).toEqual([changed]);
  rooms[0]?.tell(configured);
  await expect.poll(() => heard[1]).toEqual([changed, configured]);
  // Its own messages have come back by now.
  rooms[1]?.tell(configured);
  await expect.poll(() => heard[0]).toEqual([changed, configured, configured]);
  expect(heard[1]).toEqual([changed, configured, configured]);
});

it('does not mistake them for login attempts, nor those for changes', async () => {
  const logins = new NatsLogins(testLink(connections[0] as NatsConnection, 'm2'), subjects, 'e'.repeat(16));
  const place = 'p'.repeat(43);
  rooms[0]?.tell(changed);
  logins.tell(place, 'tried');
  await expect.poll(() => attempts).toEqual([place]);
  expect(heard[1]).toEqual([changed]);
});

it('hears nothing from who is no member, or says nothing that can be understood', async () => {
  const [connection] = connections as [NatsConnection];
  const link = testLink(connection, 'm3');
  connection.publish(subjects.logins, `${'e'.repeat(16)} =default ann`);
  for (const text of ['', 'x =default ann', `${'e'.repeat(16)} =`, `${'e'.repeat(16)} =%E0%A4%A ann`])
    link.publish(subjects.logins, text);
  rooms[0]?.tell(configured);
  await expect.poll(() => heard[1]).toEqual([configured]);
});
