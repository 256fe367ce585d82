import { connectToNats, newInbox } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { decodeCall } from '#cluster/router/call-frames.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { ClusterMember } from './member-cluster.ts';
import type { NatsCluster } from './nats-cluster.ts';
import { until } from './until.ts';

/** Where a sealed call says how long the name of its sender is; the call follows the name. See member-seal.ts. */
const SENDER_LENGTH_AT = 45;

/** Types of the messages about a repository that other members send its owner while something is done, in order. */
export async function callsOf(
  nats: NatsCluster,
  owner: ClusterMember,
  repository: string,
  work: () => Promise<unknown>,
): Promise<readonly string[]> {
  const listening = await connectToNats({ urls: nats.urls, name: 'test' });
  const called: string[] = [];
  listening.subscribe(new Subjects().calls(owner.id), {
    callback: (_, { data }) => {
      const call = data.subarray(SENDER_LENGTH_AT + 1 + (data[SENDER_LENGTH_AT] as number));
      const { actor, message } = atOnce(decodeCall(call));
      if (actor.includes(`/${repository}~`)) called.push((message as { readonly type: string }).type);
    },
  });
  const known = newInbox(listening);
  listening.subscribe(known, { callback: (_, message) => void message.respond() });
  for (const url of nats.urls) await passesOn(url, known);
  await work();
  // What a server passes on comes in order, so the calls have come before these.
  for (const url of nats.urls) await passesOn(url, known);
  await listening.close();
  return called;
}

/** Waits until a server passes on what is sent to a subject, and so what was sent or subscribed to before. */
async function passesOn(url: string, subject: string): Promise<void> {
  const asking = await connectToNats({ urls: [url], name: 'test' });
  const isAnswered = () =>
    asking.request(subject).then(
      () => true,
      () => false,
    );
  await until(isAnswered, `${url} knows the subscription`);
  await asking.close();
}
