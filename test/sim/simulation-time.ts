/**
 * Time a test of simulations may take, in milliseconds. They wait for nothing but the processor and have bounds of their own,
 * so it only has to be more than they take where ten other programs share a core: the usual limit was met there.
 */
export const SIMULATION_MS_MAX = 300_000;
