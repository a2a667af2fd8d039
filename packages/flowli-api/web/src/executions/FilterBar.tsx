import { Button, Collapse, Select, SimpleGrid } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { SlidersHorizontal, X } from "lucide-react";
import { useMay } from "@/api/may";
import { useWorkflows } from "@/api/reads";
import { AttributeFilter } from "./AttributeFilter";
import { BulkMenu } from "./BulkMenu";
import classes from "./FilterBar.module.css";
import { anyFilter, type Filters } from "./filters";
import { TextFilter } from "./TextFilter";
import { TimeFilter } from "./TimeFilter";

interface Props {
  filters: Filters;
  onChange: (change: Partial<Filters>) => void;
}

const NONE: Filters = {
  status: [],
  workflow: "",
  queue: "",
  text: "",
  key: "",
  attribute: [],
  waiting_on: "",
  created_after: "",
  created_before: "",
  cursor: "",
};

/** Conditions; those that are used seldom are folded away. */
export function FilterBar({ filters, onChange }: Props) {
  const seldom = [filters.queue, filters.key, filters.waiting_on, ...filters.attribute].some(Boolean);
  const [open, { toggle }] = useDisclosure(seldom);
  const may = useMay()("workflows:read");
  const workflows = useWorkflows(may);
  const names = [...new Set([...(workflows.data?.items ?? []).map((one) => one.name), filters.workflow])];
  return (
    <div>
      <div className={classes.bar}>
        <Select
          aria-label="Workflow"
          placeholder="All workflows"
          data={names.filter(Boolean)}
          value={filters.workflow || null}
          onChange={(workflow) => onChange({ workflow: workflow ?? "" })}
          searchable
          clearable
          clearButtonProps={{ "aria-label": "All workflows" }}
          className={classes.wide}
        />
        <TextFilter label="Text" value={filters.text} onChange={(text) => onChange({ text })} />
        <TimeFilter filters={filters} onChange={onChange} />
        <Button
          variant="default"
          onClick={toggle}
          aria-expanded={open}
          leftSection={<SlidersHorizontal size={15} aria-hidden />}
        >
          More
        </Button>
        {anyFilter(filters) && <BulkMenu filters={filters} />}
        {anyFilter(filters) && (
          <Button
            variant="subtle"
            color="gray"
            onClick={() => onChange(NONE)}
            leftSection={<X size={15} aria-hidden />}
          >
            Clear
          </Button>
        )}
      </div>
      <Collapse expanded={open}>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} pt="xs" spacing="xs">
          <TextFilter label="Queue" value={filters.queue} onChange={(queue) => onChange({ queue })} />
          <TextFilter label="Business key" value={filters.key} onChange={(key) => onChange({ key })} />
          <TextFilter
            label="Waits on, like channel:approval"
            value={filters.waiting_on}
            onChange={(waiting_on) => onChange({ waiting_on })}
          />
          <AttributeFilter value={filters.attribute} onChange={(attribute) => onChange({ attribute })} />
        </SimpleGrid>
      </Collapse>
    </div>
  );
}
