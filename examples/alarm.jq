[ (select(.state != "running") | "it is \(.state)"),
  (.apps | to_entries[] | select(.value.state != "running") | "app \(.key) is \(.value.state)"),
  (.links | to_entries[] | select((.value.drops_per_s // 0) > 0) | "link \(.key) drops \(.value.drops_per_s | ceil)/s"),
  (.workers[] | select((.cpu // 0) > 0.9) | "worker \(.worker) is \(.cpu * 100 | round) % busy"),
  (.workers[] | select((.pool_exhausted_per_s // 0) > 0) | "worker \(.worker) has no free packets")
] | if . == [] then empty else join("; ") end
