import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

type DnsError = 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED';

/** What a name has. A `CNAME` is followed within the zone, and the answer has the whole chain. */
export interface DnsEntry {
  readonly a?: readonly string[];
  readonly aaaa?: readonly string[];
  readonly cname?: string;
  /** The answer is an error. */
  readonly error?: DnsError;
  /** The answer for IPv6 is an error. */
  readonly errorOfAaaa?: DnsError;
  /** There is no answer. */
  readonly isSilent?: boolean;
}

interface Question {
  readonly name: string;
  readonly type: number;
  /** As it was asked, for the answer. */
  readonly bytes: Buffer;
}

const A = 1;
const CNAME = 5;
const AAAA = 28;

const errorCodes = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const;

/** A name server on loopback over UDP, whose zone a test changes while it runs. */
export class DnsServer {
  readonly #socket: Socket;
  /** Names in lower case; others do not exist. A list is answered one entry after the other, the last one for good. */
  readonly zone = new Map<string, DnsEntry | readonly DnsEntry[]>();
  /** What was asked: type and name. */
  readonly asked: string[] = [];
  #isStopped = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (message, { address, port }) => {
      const answer = this.#answer(message);
      if (answer !== undefined) socket.send(answer, port, address);
    });
  }

  /** Starts one on a free port. */
  static async start(): Promise<DnsServer> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new DnsServer(socket);
  }

  /** `address:port`. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#socket.close();
    await once(this.#socket, 'close');
  }

  #answer(message: Buffer): Buffer | undefined {
    const question = questionOf(message);
    this.asked.push(`${question.type === AAAA ? 'AAAA' : 'A'} ${question.name}`);
    const entry = this.#entryOf(question);
    if (entry?.isSilent === true) return undefined;
    const code = codeOf(entry, question.type);
    const records = code === 0 ? this.#records(question.name, question.type, entry) : [];
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    // An answer to a recursive question, with its code.
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    return Buffer.concat([head, question.bytes, ...records]);
  }

  #entryOf({ name, type }: Question): DnsEntry | undefined {
    const entry = this.zone.get(name);
    if (entry === undefined || !Array.isArray(entry)) return entry as DnsEntry | undefined;
    const times = this.asked.filter((asked) => asked === `${type === AAAA ? 'AAAA' : 'A'} ${name}`).length;
    return entry[Math.min(times, entry.length) - 1];
  }

  #records(name: string, type: number, entry: DnsEntry | undefined): Buffer[] {
    if (entry === undefined || Array.isArray(entry)) return [];
    if (entry.cname !== undefined) {
      const next = this.zone.get(entry.cname) as DnsEntry | undefined;
      return [record(name, CNAME, nameBytes(entry.cname)), ...this.#records(entry.cname, type, next)];
    }
    if (type === A) return (entry.a ?? []).map((address) => record(name, A, ipv4Bytes(address)));
    return (entry.aaaa ?? []).map((address) => record(name, AAAA, ipv6Bytes(address)));
  }
}

function codeOf(entry: DnsEntry | undefined, type: number): number {
  if (entry === undefined) return errorCodes.NXDOMAIN;
  const error = entry.error ?? (type === AAAA ? entry.errorOfAaaa : undefined);
  return error === undefined ? 0 : errorCodes[error];
}

function questionOf(message: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] as number; length > 0; length = message[at] as number) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = message.readUInt16BE(at + 1);
  return { name: labels.join('.').toLowerCase(), type, bytes: message.subarray(12, at + 5) };
}

function record(name: string, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  // Class IN; time to live 0.
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(name), head, data]);
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

function ipv4Bytes(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number));
}

function ipv6Bytes(address: string): Buffer {
  const [before = '', behind = ''] = address.split('::');
  const groupsOf = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [first, last] = [groupsOf(before), groupsOf(behind)];
  const groups = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
  const bytes = Buffer.alloc(16);
  groups.forEach((group, index) => void bytes.writeUInt16BE(group, 2 * index));
  return bytes;
}
