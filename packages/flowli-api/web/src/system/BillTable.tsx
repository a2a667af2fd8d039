import { Group, Table, Text } from "@mantine/core";
import type { Bill } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { bytes } from "@/parts/sizes";
import { duration } from "@/parts/times";
import { When } from "@/parts/When";

const DOLLARS = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

/** What this process has asked of the bucket. */
export function BillTable({ bill }: { bill: Bill | null }) {
  if (bill === null)
    return (
      <div className="card">
        <Empty title="Requests are not counted">
          A program that serves the interface itself gives <code>create_app(bill=…)</code>.
        </Empty>
      </div>
    );
  const all = bill.requests.reduce((sum, one) => sum + one.requests, 0);
  return (
    <div className="card">
      <Group p="md" pb={4} gap="xs">
        <Text size="sm">
          <b>{all.toLocaleString()}</b> requests since <When at={bill.since} as="local" />
        </Text>
        <Text size="sm" c="dimmed">
          {bill.dollars === null ? "They cost nothing here." : `About ${DOLLARS.format(bill.dollars)} by list prices.`}
        </Text>
      </Group>
      <Table.ScrollContainer minWidth={480} type="native" tabIndex={0} role="region" aria-label="Requests by kind">
        <Table verticalSpacing={9} horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Request</Table.Th>
              <Table.Th>Ended</Table.Th>
              <Table.Th ta="right">How many</Table.Th>
              <Table.Th ta="right">Each took</Table.Th>
              <Table.Th ta="right">Sent</Table.Th>
              <Table.Th ta="right">Received</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {bill.requests.map((one) => (
              <Table.Tr key={`${one.verb} ${one.outcome}`}>
                <Table.Td>{one.verb.replace("_", " ")}</Table.Td>
                <Table.Td>{one.outcome}</Table.Td>
                <Table.Td ta="right">{one.requests.toLocaleString()}</Table.Td>
                <Table.Td ta="right">{duration(one.seconds / one.requests)}</Table.Td>
                <Table.Td ta="right">{bytes(one.sent_bytes)}</Table.Td>
                <Table.Td ta="right">{bytes(one.received_bytes)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </div>
  );
}
