import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionGate, type ReadTable } from '#protocols/http/connection-gate.ts';
import { TestClock } from '#test/support/test-clock.ts';

const cleanups: (() => unknown)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

const v4 = (last: number): Uint8Array => Uint8Array.of(10, 0, 0, last);
const v6 = (network: number, host: number): Uint8Array =>
  Uint8Array.of(0x20, 1, 0xd, 0xb8, 0, 0, 0, network, 0, 0, 0, 0, 0, 0, 0, host);

/** A table as the system writes it, of established connections to port 8080. */
function tableOf(peers: readonly Uint8Array[]): string {
  const rows = peers.map((peer, index) => {
    const words = Buffer.from(peer).swap32().toString('hex').toUpperCase();
    return `   ${index}: 0100007F:1F90 ${words}:9C40 01 00000000:00000000 00:00000000 00000000     0        0 1`;
  });
  return ['  sl  local_address rem_address   st tx_queue rx_queue', ...rows, ''].join('\n');
}

describe('the gate of connections', () => {
  it('keeps as many as it may, and more when some are gone', () => {
    const gate = new ConnectionGate({ connectionsMax: 2 }, new TestClock());
    expect([1, 2, 3].map((last) => gate.opened(v4(last)))).toEqual([true, true, false]);
    // The refused one is closed, and one of the others.
    gate.closed();
    gate.closed();
    expect(gate.count).toBe(1);
    expect(gate.opened(v4(4))).toBe(true);
  });

  it('bounds an address by what the system knows of it, and no other one', () => {
    const clock = new TestClock();
    let open: Uint8Array[] = [];
    const readTable: ReadTable = (name) => (name === 'tcp' ? tableOf(open) : undefined);
    const gate = new ConnectionGate({ connectionsMax: 100, perAddressMax: 2 }, clock, readTable);
    gate.listensOn(8080);
    const come = (address: Uint8Array): boolean => {
      open.push(address);
      const isKept = gate.opened(address);
      if (!isKept) open = open.filter((one) => one !== address);
      return isKept;
    };
    expect([come(v4(1)), come(v4(1)), come(v4(1)), come(v4(2))]).toEqual([true, true, false, true]);
    // Both of it go, which the gate is told without their address.
    open = open.filter((one) => one[3] !== 1);
    gate.closed();
    gate.closed();
    clock.advance(1_000);
    expect([come(v4(1)), come(v4(1)), come(v4(1))]).toEqual([true, true, false]);
  });

  it('takes a network of IPv6 for one address, and IPv4 inside IPv6 for what it is', () => {
    const readTable: ReadTable = () => tableOf([]);
    const gate = new ConnectionGate({ connectionsMax: 100, perAddressMax: 1 }, new TestClock(), readTable);
    expect(gate.opened(v6(1, 1))).toBe(true);
    expect(gate.opened(v6(2, 1))).toBe(true);
    const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 9);
    expect(gate.opened(mapped)).toBe(true);
    // One look at the table a moment: it is known by now, and not looked at again.
    gate.opened(v6(3, 1));
    gate.opened(v6(3, 2));
    expect(gate.opened(v6(3, 3))).toBe(false);
    gate.opened(v4(9));
    expect(gate.opened(v4(9))).toBe(false);
  });

  it('reads the table of this system', async () => {
    const server = createServer((socket) => void cleanups.push(() => socket.destroy()));
    cleanups.push(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const gate = new ConnectionGate({ connectionsMax: 100, perAddressMax: 3 }, new TestClock());
    gate.listensOn(port);
    const sockets: Socket[] = [];
    for (let index = 0; index < 4; index += 1) {
      sockets.push(
        await new Promise<Socket>((resolve) => {
          const socket = connect(port, '127.0.0.1', () => resolve(socket));
          cleanups.push(() => socket.destroy());
        }),
      );
    }
    const answers = sockets.map(() => gate.opened(Uint8Array.of(127, 0, 0, 1)));
    expect(answers).toEqual([true, true, true, false]);
  });
});
